from http.client import HTTPConnection


class Client:
    def __init__(self, host, port):
        self.host = host
        self.port = port
        self.idle = []
        self.busy = set()

    def get(self, path):
        connection = self.idle.pop() if self.idle else HTTPConnection(self.host, self.port)
        self.busy.add(connection)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        except Exception:
            connection.close()  # it connects again when it is used again
            raise
        finally:
            self.busy.remove(connection)
            self.idle.append(connection)
        if response.status == 404:
            return None
        if response.status in {301, 302, 303, 307, 308}:
            return self.get(response.getheader("Location"))
        return body

    def close(self):
        for connection in [*self.idle, *self.busy]:
            connection.close()

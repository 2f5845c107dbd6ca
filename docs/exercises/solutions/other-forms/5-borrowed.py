from contextlib import contextmanager
from http.client import HTTPConnection


class Client:
    def __init__(self, host, port):
        self.host, self.port = host, port
        self.idle = []

    @contextmanager
    def borrowed(self):
        connection = self.idle.pop() if self.idle else HTTPConnection(self.host, self.port)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self.idle.append(connection)

    def get(self, path):
        while True:
            with self.borrowed() as connection:
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read()
            if response.status == 404:
                return None
            if response.status // 100 != 3:
                return body
            path = response.getheader("Location")

    def close(self):
        for connection in self.idle:
            connection.close()

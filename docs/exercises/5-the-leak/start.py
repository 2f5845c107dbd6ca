"""Exercise 5: a client that keeps its connections. After some thousand pages: OSError, too many open files."""

from http.client import HTTPConnection


class Client:
    """Fetches pages from one server. A connection is used again after its last page has been read."""

    def __init__(self, host, port):
        self.host = host
        self.port = port
        self.idle = []
        self.busy = set()

    def get(self, path):
        """Return the body of a page; None if there is no such page. Redirects are followed.

        Raises an OSError or an HTTPException when the server breaks off.
        """
        connection = self.idle.pop() if self.idle else HTTPConnection(self.host, self.port)
        self.busy.add(connection)
        connection.request("GET", path)
        response = connection.getresponse()
        if response.status == 404:
            return None
        if response.status in {301, 302, 303, 307, 308}:
            return self.get(response.getheader("Location"))
        body = response.read()
        self.busy.remove(connection)
        self.idle.append(connection)
        return body

    def close(self):
        """Close all connections."""
        for connection in [*self.idle, *self.busy]:
            connection.close()

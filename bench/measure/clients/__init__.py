"""Independent clients of one server, which must see the same of it."""

"""A run as text, tables, pictures, page and JSON: its studies (which figures are compared), and how they are shown."""

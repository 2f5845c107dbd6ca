"""What all models share, with no I/O in it: no socket, no selector, no event loop, no thread.

``http1``     request bytes out, response bytes in
``links``     what a page links to, as normalised URLs
``frontier``  what was seen, what is in flight, what to fetch next; redirects, retries, timestamps
``page``      one fetch, and the record that is left of it
``kept``      which connections to keep for a later fetch
"""

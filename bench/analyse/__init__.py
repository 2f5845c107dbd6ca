"""From rows to figures; needs no strategy, no server and no worker."""

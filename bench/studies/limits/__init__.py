"""Where threads, descriptors, ports, connections and memory end on this machine, and by which limit."""

"""History: many stored runs of one machine as series of figures over dates, versions or commits, with change points."""

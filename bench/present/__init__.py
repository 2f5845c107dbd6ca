"""From figures to what people see: tables, plots, text."""

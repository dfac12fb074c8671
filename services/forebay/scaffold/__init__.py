"""A new service's folder, written from the templates in files/."""

"""Services: how they are found and named, and how their entry is checked against their job."""

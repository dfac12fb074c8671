"""HTTP server code that query servers, the console and jobs share."""

"""How the JVM and the Python workers of a job are started."""

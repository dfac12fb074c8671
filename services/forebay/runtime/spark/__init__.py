"""The integration with Spark, which plans leases and runs the workers that hold them."""

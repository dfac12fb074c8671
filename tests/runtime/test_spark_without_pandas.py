"""Inside `pandas_unasked()`, Spark's functions are created without importing pandas. After it, they import pandas."""

import subprocess
import sys

MADE = """
import sys
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType
from forebay.runtime.launch.pandas_later import pandas_unasked

def make():
    pandas_udf(lambda *_: [], StructType(), PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    print("pandas" in sys.modules)

with pandas_unasked():
    make()
make()
"""


def test_functions_are_created_without_pandas_only_inside_the_context() -> None:
    done = subprocess.run([sys.executable, "-c", MADE], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr

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


def test_a_function_of_batches_is_made_without_pandas_and_others_ask_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", MADE], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr

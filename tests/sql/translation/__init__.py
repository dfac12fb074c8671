"""Runs cases in the format of ksqlDB's query translation tests on the test driver.

`python -m tests.sql.translation FOLDER` runs a folder of such files and reports by file how many pass, and why the
others do not. ksqlDB's own cases are not part of this repository: clone ksqlDB and name the folder
`ksqldb-functional-tests/src/test/resources/query-validation-tests`.
"""

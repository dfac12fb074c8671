"""Runs cases in the format of ksqlDB's query translation tests on the test driver.

`python -m tests.sql.translation FOLDER` runs a folder of such files and reports by file how many pass, and why the
others do not. ksqlDB's own cases are not part of this repository: clone ksqlDB and name the folder
`ksqldb-functional-tests/src/test/resources/query-validation-tests`.

`cases` and `questions` have the project's own cases. A case there may name words that the message of a refusal must
contain: `"expectedException": {"words": ["GROUP BY"]}`.
"""

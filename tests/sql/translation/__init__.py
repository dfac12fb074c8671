"""Runner of cases in the format of ksqlDB's query translation tests, on the test driver.

`python -m tests.sql.translation FOLDER` runs the files of a folder, and reports by file how many cases pass and why
others fail. ksqlDB's own cases are not part of this repository. To run them, clone ksqlDB and specify its folder
`ksqldb-functional-tests/src/test/resources/query-validation-tests`.

`cases` and `questions` contain the project's own cases. They may specify words that the message of a refusal must
contain: `"expectedException": {"words": ["GROUP BY"]}`.
"""

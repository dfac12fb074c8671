"""The grammar: the keys of each construct, and the types of their values. Required keys begin with "!"."""

from __future__ import annotations

from collections.abc import Mapping

Keys = Mapping[str, str]

FUNCTION: Keys = {
    "name": "text",
    "type": "text",
    "parameters": "list:object:parameter",
    "globalCode": "code",
    "code": "code",
    "expression": "code",
    "resultType": "type",
    "stores": "list:text",
}
_STORE: Keys = {
    "name": "text",
    "type": "choice:keyValue|window|session",
    "keyType": "type",
    "valueType": "type",
    "persistent": "bool",
    "caching": "bool",
    "logging": "bool",
    "timestamped": "bool",
}
STORES: Mapping[str, Keys] = {
    "keyValue": {**_STORE, "versioned": "bool", "historyRetention": "duration", "segmentInterval": "duration"},
    "window": {**_STORE, "windowSize": "duration", "retention": "duration", "retainDuplicates": "bool"},
    "session": {**_STORE, "retention": "duration"},
}
_TOPIC: Keys = {"!topic": "text", "keyType": "type", "valueType": "type"}
_READ: Keys = {
    **_TOPIC,
    "offsetResetPolicy": "text",
    "timestampExtractor": "function:timestampExtractor",
    "partitioner": "function:streamPartitioner",
}
_ENDS: Keys = {
    "name": "text",
    "via": "list:operation",
    "as": "text",
    "branch": "list:object:branch",
    "forEach": "function:forEach",
    "print": "object:print",
    "to": "ref:target",
    "toTopicNameExtractor": "ref:topicNameExtractor",
}

OBJECTS: Mapping[str, Keys] = {
    "definition": {
        "$schema": "any",
        "name": "any",
        "version": "any",
        "description": "any",
        "functions": "named:function",
        "globalTables": "named:object:table",
        "pipelines": "named:object:pipeline",
        "producers": "named:object:producer",
        "stores": "named:store",
        "streams": "named:object:stream",
        "tables": "named:object:table",
    },
    "parameter": {"!name": "text", "type": "type", "defaultValue": "any"},
    "stream": _READ,
    "table": {**_READ, "store": "store:keyValue"},
    "source": _READ,
    "joined stream": _READ,
    "joined table": {**_READ, "store": "store:keyValue"},
    "target": {**_TOPIC, "partitioner": "function:streamPartitioner"},
    "pipeline": {"!from": "ref:source", **_ENDS},
    "branch": {"if": "function:predicate", **_ENDS},
    "print": {"filename": "text", "label": "text", "mapper": "function:keyValuePrinter", "name": "text"},
    "topicNameExtractor": {
        "!topicNameExtractor": "function:topicNameExtractor",
        "partitioner": "function:streamPartitioner",
    },
    "producer": {
        "!generator": "function:generator",
        "!to": "ref:target",
        "condition": "function:predicate",
        "until": "function:predicate",
        "count": "int",
        "batchSize": "int",
        "interval": "duration",
    },
}

_STATEFUL = {"store": "store:keyValue"}
_JOIN = {
    "!valueJoiner": "function:valueJoiner",
    "stream": "ref:joined stream",
    "table": "ref:joined table",
    "globalTable": "ref:joined table",
    "mapper": "function:keyValueMapper",
    "foreignKeyExtractor": "function:foreignKeyExtractor",
    "timeDifference": "duration",
    "grace": "duration",
    "thisStore": "store:window",
    "otherStore": "store:window",
    "store": "store:keyValue",
    "partitioner": "function:streamPartitioner",
    "otherPartitioner": "function:streamPartitioner",
}
_TRANSFORM_KEY = {"!mapper": "function:keyTransformer"}
_TRANSFORM_BOTH = {"!mapper": "function:keyValueTransformer"}
_TRANSFORM_VALUE = {"!mapper": "function:valueTransformer", **_STATEFUL}
_TO_PAIRS = {"!mapper": "function:keyValueToKeyValueListTransformer"}
_TO_VALUES = {"!mapper": "function:keyValueToValueListTransformer"}

OPERATIONS: Mapping[str, Keys] = {
    "aggregate": {
        "!initializer": "function:initializer",
        "aggregator": "function:aggregator",
        "adder": "function:aggregator",
        "subtractor": "function:aggregator",
        "merger": "function:merger",
        "store": "store:any",
    },
    "cogroup": {"!aggregator": "function:aggregator"},
    "convertKey": {"!into": "type"},
    "convertKeyValue": {"!into": "type"},
    "convertValue": {"!into": "type"},
    "count": {"store": "store:any"},
    "filter": {"!if": "function:predicate", **_STATEFUL},
    "filterNot": {"!if": "function:predicate", **_STATEFUL},
    "groupBy": {"!mapper": "function:keyValueMapper", **_STATEFUL},
    "groupByKey": {**_STATEFUL},
    "join": _JOIN,
    "leftJoin": _JOIN,
    "outerJoin": _JOIN,
    "merge": {"!stream": "ref:joined stream"},
    "peek": {"!forEach": "function:forEach"},
    "reduce": {
        "reducer": "function:reducer",
        "adder": "function:reducer",
        "subtractor": "function:reducer",
        "store": "store:any",
    },
    "repartition": {"numberOfPartitions": "int", "partitioner": "function:streamPartitioner"},
    "suppress": {
        "!until": "choice:timeLimit|windowCloses",
        "duration": "duration",
        "maxBytes": "int",
        "maxRecords": "int",
        "bufferFullStrategy": "choice:emitEarlyWhenFull|shutdownWhenFull",
    },
    "toStream": {"mapper": "function:keyTransformer"},
    "toTable": {**_STATEFUL},
    "transformKey": _TRANSFORM_KEY,
    "mapKey": _TRANSFORM_KEY,
    "selectKey": _TRANSFORM_KEY,
    "transformKeyValue": _TRANSFORM_BOTH,
    "map": _TRANSFORM_BOTH,
    "transformKeyValueToKeyValueList": _TO_PAIRS,
    "flatMap": _TO_PAIRS,
    "transformKeyValueToValueList": _TO_VALUES,
    "flatMapValues": _TO_VALUES,
    "transformMetadata": {"!mapper": "function:metadataTransformer"},
    "transformValue": _TRANSFORM_VALUE,
    "mapValue": _TRANSFORM_VALUE,
    "mapValues": _TRANSFORM_VALUE,
    "windowBySession": {"!inactivityGap": "duration", "grace": "duration"},
    "windowByTime": {
        "!windowType": "choice:tumbling|hopping|sliding",
        "duration": "duration",
        "advanceBy": "duration",
        "timeDifference": "duration",
        "grace": "duration",
    },
}

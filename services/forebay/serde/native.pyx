# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=False
"""Native codec of Avro records. A plan is laid out as C nodes, which the functions for reading and writing traverse.

The native code handles only well-formed bytes, and records whose values have exactly the expected types. For all other
data it raises `_Doubt`, and `Codec` calls the explaining path in Python, which accepts the data or raises an error with
the reason. Therefore both paths accept the same data and report the same errors. While bytes are read, the limits of
`forebay.serde.limits` apply.

Memory: the nodes of a plan are in bytes objects. The `_Plan` keeps these alive, together with all objects to which
nodes point, so nodes contain borrowed references. The slots of a record are written directly (see `_slot`) without
calling its class. This is correct only for a class whose constructor does nothing else (`constructed_directly`).

No function releases the GIL, because all of them create or inspect Python objects.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next, PyDict_SetItem, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyFloat_FromDouble
from cpython.long cimport PyLong_CheckExact, PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport Py_TYPE, PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from decimal import Decimal
from inspect import getattr_static

from forebay.codec import DecodeError
from forebay.records import FrozenMap
from forebay.serde.avro_types import Array, DecimalType, Enumeration, Map, Primitive, Record, Union
from forebay.serde.decimals import decimal_reader, decimal_writer
from forebay.serde.limits import FREE_VALUES, VALUES_PER_BYTE, unfolds
from forebay.serde.plan import (
    Constant,
    Conversion,
    ReadArray,
    ReadDecimal,
    ReadEnumeration,
    ReadFixed,
    ReadMap,
    ReadPrimitive,
    ReadRecord,
    ReadUnion,
)
from forebay.serde.slots import constructed_directly

cdef extern from "Python.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef *d_member
    PyTypeObject PyMemberDescr_Type
    void PyObject_GC_UnTrack(void *op)
    bint PyObject_GC_IsTracked(PyObject *op)
    object PyType_GenericAlloc(PyTypeObject *type, Py_ssize_t items)
    object PyUnicode_DecodeUTF8(const char *text, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1

cdef extern from "structmember.h":
    pass

cdef enum Kind:
    NULL_VALUE
    BOOLEAN
    INT
    LONG
    FLOAT
    DOUBLE
    BYTES
    STRING
    FIXED
    DECIMAL
    ENUMERATION
    UNION
    ARRAY
    MAP
    RECORD
    MADE_RECORD  # a record that is created by calling its class
    REFUSED

_KINDS = {
    "null": NULL_VALUE,
    "boolean": BOOLEAN,
    "int": INT,
    "long": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": BYTES,
    "string": STRING,
}

_FLAT = frozenset({ReadPrimitive, ReadFixed, ReadDecimal, ReadEnumeration, ReadUnion})  # a union if its branches are

cdef struct Filler:  # a slot that is not read from the bytes
    Py_ssize_t slot
    Py_ssize_t copied_from  # the slot whose value is copied, or 0
    PyObject *constant

cdef struct Node:
    Kind kind
    bint to_float
    bint canonical  # every value is read back in the form in which it was written
    bint flat  # values contain no references that could be part of a cycle
    bint flat_fields  # the values of a record's fields are flat
    Py_ssize_t count  # number of children, symbols, or bytes of a fixed type (-1 for a decimal with a length prefix)
    Node *children
    PyObject *thing  # class of a record, function of a decimal or MADE_RECORD, symbols of an enumeration
    PyObject *names  # names of a record's fields, if they are not in slots
    PyObject *unit  # a decimal with the exponent of the contract
    Py_ssize_t *slots  # offsets of a record's fields in its instances, 0 for a field that is skipped
    Py_ssize_t fillers
    Filler *filler

cdef struct Cursor:
    const unsigned char *at
    const unsigned char *end
    Py_ssize_t most_items  # largest number of items of a block
    Py_ssize_t values  # number of further values that may be read

cdef struct Buffer:
    char *start
    Py_ssize_t used
    Py_ssize_t room
    char *heap  # the allocated memory, NULL while `start` is the caller's memory on the stack

cdef enum:
    FIRST_ROOM = 1024

cdef object _empty = ()
cdef Py_ssize_t _free_values = FREE_VALUES
cdef Py_ssize_t _values_per_byte = VALUES_PER_BYTE
cdef PyObject *_frozen_map = <PyObject *>FrozenMap
cdef PyObject *_decimal = <PyObject *>Decimal


class _Doubt(Exception):
    """The native code can't handle the data, so the explaining path must decide."""


class _TooMany(Exception):
    """The bytes contain more values than the limits allow."""



# -- plans ------------------------------------------------------------------------------------------------------------


cdef class _Plan:
    """Nodes, and all objects to which they point."""

    cdef list kept
    cdef Node root

    def __cinit__(self):
        self.kept = []

    cdef void *take(self, Py_ssize_t size) except NULL:
        """Return zeroed memory that lives as long as this plan."""
        block = PyBytes_FromStringAndSize(NULL, size + 1)
        memset(PyBytes_AS_STRING(block), 0, size)
        self.kept.append(block)
        return PyBytes_AS_STRING(block)

    cdef PyObject *keep(self, object thing):
        self.kept.append(thing)
        return <PyObject *>thing

    cdef int branch(self, Node *node, Kind kind, Py_ssize_t count) except -1:
        node.kind = kind
        node.count = count
        node.children = <Node *>self.take(count * sizeof(Node))
        return 0


cdef Py_ssize_t _slot(object record_type, object name) except 0:
    """Return the offset of a field's slot in instances of `record_type`. Raises TypeError if it is not a slot."""
    member = getattr_static(record_type, name)
    if Py_TYPE(member) is not &PyMemberDescr_Type:
        raise TypeError(f"{record_type.__name__}.{name} is not a slot")
    return (<PyMemberDescrObject *>member).d_member.offset


cdef _Plan _reading(object plan):
    cdef _Plan made = _Plan()
    _lay_out_reading(made, &made.root, plan)
    return made


cdef int _lay_out_reading(_Plan made, Node *node, object plan) except -1:
    cdef Py_ssize_t index
    kind = type(plan)
    node.flat = kind in _FLAT
    if kind is ReadPrimitive:
        node.kind = _KINDS[plan.name]
        node.to_float = plan.conversion is Conversion.TO_FLOAT
    elif kind is ReadFixed:
        node.kind, node.count = FIXED, plan.size
    elif kind is ReadDecimal:
        node.kind = DECIMAL
        node.count = -1 if plan.writer.size is None else plan.writer.size
        node.thing = made.keep(decimal_reader(plan.writer, plan.scale))
    elif kind is ReadEnumeration:
        node.kind, node.count = ENUMERATION, len(plan.symbols)
        node.thing = made.keep(plan.symbols)
    elif kind is ReadUnion:
        made.branch(node, UNION, len(plan.branches))
        for index, branch in enumerate(plan.branches):
            _lay_out_reading(made, &node.children[index], branch)
            node.flat = node.flat and node.children[index].flat
    elif kind is ReadArray:
        made.branch(node, ARRAY, 1)
        _lay_out_reading(made, &node.children[0], plan.item)
    elif kind is ReadMap:
        made.branch(node, MAP, 1)
        _lay_out_reading(made, &node.children[0], plan.value)
    elif kind is ReadRecord:
        made.branch(node, RECORD, len(plan.fields))
        node.slots = <Py_ssize_t *>made.take(node.count * sizeof(Py_ssize_t))
        for index, (_, field) in enumerate(plan.fields):
            _lay_out_reading(made, &node.children[index], field)
        if plan.record_type is not None:
            _lay_out_making(made, node, plan)
    else:
        node.kind = REFUSED
    return 0


cdef int _lay_out_making(_Plan made, Node *node, object plan) except -1:
    """Set the slot of a record in which each value that is read is stored, and the sources of the other slots."""
    cdef Py_ssize_t slot
    cdef Filler *filler
    if not constructed_directly(plan.record_type):
        node.kind = MADE_RECORD
        node.thing = made.keep(plan.make)
        return 0
    node.thing = made.keep(plan.record_type)
    node.flat_fields = True
    for slot in range(node.count):
        node.flat_fields = node.flat_fields and node.children[slot].flat
    node.filler = <Filler *>made.take(len(plan.arguments) * sizeof(Filler))
    for name, argument in zip(plan.names, plan.arguments):
        slot = _slot(plan.record_type, name)
        if type(argument) is not Constant and node.slots[argument.index] == 0:
            node.slots[argument.index] = slot
            continue
        filler = &node.filler[node.fillers]
        filler.slot = slot
        if type(argument) is Constant:
            filler.constant = made.keep(argument.value)
            node.flat_fields = node.flat_fields and not PyObject_GC_IsTracked(filler.constant)
        else:
            filler.copied_from = node.slots[argument.index]
        node.fillers += 1
    return 0


cdef _Plan _writing(object contract, object classes):
    cdef _Plan made = _Plan()
    _lay_out_writing(made, &made.root, contract, classes)
    return made


cdef int _lay_out_writing(_Plan made, Node *node, object avro, object classes) except -1:
    cdef Py_ssize_t index
    kind = type(avro)
    node.canonical = True
    if kind is Primitive:
        node.kind = _KINDS[avro.name]
        node.canonical = node.kind not in (FLOAT, DOUBLE)
    elif kind is DecimalType:
        node.kind, node.canonical = DECIMAL, False
        node.count = -1 if avro.size is None else avro.size
        node.thing = made.keep(decimal_writer(avro))
        node.unit = made.keep(Decimal((0, (1,), -avro.scale)))
    elif kind is Enumeration:
        node.kind, node.count = ENUMERATION, len(avro.symbols)
        node.thing = made.keep({symbol: number for number, symbol in enumerate(avro.symbols)})
    elif kind is Union:
        made.branch(node, UNION, len(avro.branches))
        _lay_out_children(made, node, avro.branches, classes)
    elif kind is Array:
        made.branch(node, ARRAY, 1)
        _lay_out_children(made, node, (avro.items,), classes)
    elif kind is Map:
        made.branch(node, MAP, 1)
        _lay_out_children(made, node, (avro.values,), classes)
    elif kind is Record:
        made.branch(node, RECORD, len(avro.fields))
        record_type = classes[avro.name]
        node.thing = made.keep(record_type)
        if constructed_directly(record_type):
            node.slots = <Py_ssize_t *>made.take(node.count * sizeof(Py_ssize_t))
            for index, field in enumerate(avro.fields):
                node.slots[index] = _slot(record_type, field.name)
        else:
            node.names = made.keep(tuple(field.name for field in avro.fields))
        _lay_out_children(made, node, [field.type for field in avro.fields], classes)
    else:
        raise TypeError(f"contracts have no {kind.__name__}")
    return 0


cdef int _lay_out_children(_Plan made, Node *node, object types, object classes) except -1:
    cdef Py_ssize_t index
    for index, avro in enumerate(types):
        _lay_out_writing(made, &node.children[index], avro, classes)
        node.canonical = node.canonical and node.children[index].canonical
    return 0


# -- reading ----------------------------------------------------------------------------------------------------------


cdef inline int _read_long(Cursor *c, int64_t *number) except -1:
    cdef uint64_t value = 0, byte
    cdef int shift = 0
    while c.at < c.end:
        byte = c.at[0]
        c.at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if shift == 63 and byte > 1:
                break
            number[0] = <int64_t>(value >> 1) ^ -<int64_t>(value & 1)
            return 0
        shift += 7
        if shift > 63:
            break
    raise _Doubt


cdef inline const char *_take(Cursor *c, Py_ssize_t size) except NULL:
    cdef const char *start = <const char *>c.at
    if size > c.end - c.at:
        raise _Doubt
    c.at += size
    return start


cdef inline Py_ssize_t _read_length(Cursor *c) except -1:
    cdef int64_t length
    if c.at < c.end and c.at[0] < 128:
        length = c.at[0] >> 1
        if c.at[0] & 1:
            raise _Doubt
        c.at += 1
    else:
        _read_long(c, &length)
    if length < 0 or length > c.end - c.at:
        raise _Doubt
    return length


cdef inline Py_ssize_t _read_count(Cursor *c) except -1:
    """Return the number of items in the next block of an array or map, or 0 at its end."""
    cdef int64_t count
    _read_long(c, &count)
    # An item may take no bytes, so the remaining bytes do not limit the number of items. Without a limit, a few bytes
    # could announce 2^63 items, for which a tuple would be allocated.
    if count < 0:
        _read_length(c)
        if count < -c.most_items:
            raise _Doubt
        count = -count
    if count > c.most_items:
        raise _Doubt
    return count


cdef inline object _read_text(Cursor *c):
    cdef Py_ssize_t length = _read_length(c)
    return PyUnicode_DecodeUTF8(_take(c, length), length, NULL)


cdef object _read(Node *node, Cursor *c):
    cdef int64_t number
    cdef Py_ssize_t length
    cdef float narrow
    cdef double wide
    cdef Kind kind = node.kind
    c.values -= 1
    if c.values < 0:
        raise _TooMany
    if kind == STRING:
        return _read_text(c)
    if kind == LONG or kind == INT:
        _read_long(c, &number)
        if kind == INT and number != <int32_t>number:
            raise _Doubt
        if node.to_float:
            return PyFloat_FromDouble(<double>number)
        return PyLong_FromLongLong(number)
    if kind == UNION:
        _read_long(c, &number)
        if number < 0 or number >= node.count:
            raise _Doubt
        return _read(&node.children[number], c)
    if kind == NULL_VALUE:
        return None
    if kind == RECORD or kind == MADE_RECORD:
        return _read_record(node, c)
    if kind == MAP:
        return _read_map(&node.children[0], c)
    if kind == ARRAY:
        return _read_array(&node.children[0], c)
    if kind == BOOLEAN:
        length = _take(c, 1)[0]
        if length == 0:
            return False
        if length == 1:
            return True
        raise _Doubt
    if kind == DOUBLE:
        memcpy(&wide, _take(c, 8), 8)
        return PyFloat_FromDouble(wide)
    if kind == FLOAT:
        memcpy(&narrow, _take(c, 4), 4)
        return PyFloat_FromDouble(narrow)
    if kind == ENUMERATION:
        _read_long(c, &number)
        if number < 0 or number >= node.count:
            raise _Doubt
        symbol = <object>PyTuple_GET_ITEM(<object>node.thing, number)
        if symbol is None:
            raise _Doubt
        return symbol
    if kind == BYTES:
        return _read_sized(c)
    if kind == FIXED:
        return PyBytes_FromStringAndSize(_take(c, node.count), node.count)
    if kind == DECIMAL:
        length = _read_length(c) if node.count < 0 else node.count
        return (<object>node.thing)(PyBytes_FromStringAndSize(_take(c, length), length))
    raise _Doubt


cdef object _read_record(Node *node, Cursor *c):
    cdef Py_ssize_t index
    cdef Filler *filler
    cdef PyObject **slot
    if node.kind == MADE_RECORD:
        values = []
        for index in range(node.count):
            values.append(_read(&node.children[index], c))
        return (<object>node.thing)(values)
    if node.thing == NULL:
        for index in range(node.count):
            _read(&node.children[index], c)
        return None
    # The allocator sets all slots to NULL. If a field can't be read, the incomplete record can therefore be freed.
    record = PyType_GenericAlloc(<PyTypeObject *>node.thing, 0)
    cdef char *start = <char *><PyObject *>record
    for index in range(node.count):
        value = _read(&node.children[index], c)
        if node.slots[index]:
            Py_INCREF(value)
            (<PyObject **>(start + node.slots[index]))[0] = <PyObject *>value
    for index in range(node.fillers):
        filler = &node.filler[index]
        value = <object>(filler.constant if filler.constant != NULL else
                         (<PyObject **>(start + filler.copied_from))[0])
        Py_INCREF(value)
        (<PyObject **>(start + filler.slot))[0] = <PyObject *>value
    # Such a record can't be part of a reference cycle. Untracking it makes garbage collections faster.
    if node.flat_fields:
        PyObject_GC_UnTrack(<PyObject *>record)
    return record


cdef object _read_array(Node *item, Cursor *c):
    """Return the items as a tuple. If they are in one block, which is usual, they are read directly into the tuple."""
    cdef Py_ssize_t count = _read_count(c), index
    if count == 0:
        return _empty
    items = PyTuple_New(count)
    for index in range(count):
        value = _read(item, c)
        Py_INCREF(value)
        PyTuple_SET_ITEM(items, index, value)
    count = _read_count(c)
    if count == 0:
        return items
    more = list(items)
    while count:
        for index in range(count):
            more.append(_read(item, c))
        count = _read_count(c)
    return tuple(more)


cdef object _read_map(Node *item, Cursor *c):
    cdef Py_ssize_t index, count = _read_count(c)
    entries = FrozenMap()
    while count:
        for index in range(count):
            key = _read_text(c)
            PyDict_SetItem(entries, key, _read(item, c))
        count = _read_count(c)
    if item.flat:
        PyObject_GC_UnTrack(<PyObject *>entries)
    return entries


# -- writing ----------------------------------------------------------------------------------------------------------


cdef char *_room(Buffer *b, Py_ssize_t size) except NULL:
    """Return the address for the next `size` bytes. The caller adds the number of bytes that it writes to `used`."""
    cdef Py_ssize_t room
    cdef char *heap
    if b.room - b.used < size:
        room = 2 * b.room + size
        heap = <char *>PyMem_Realloc(b.heap, room)
        if heap == NULL:
            raise MemoryError
        # The first buffer is on the caller's stack, so it can't be reallocated.
        if b.heap == NULL and b.used:
            memcpy(heap, b.start, b.used)
        b.start = b.heap = heap
        b.room = room
    return b.start + b.used


cdef inline int _write_long(Buffer *b, int64_t number) except -1:
    cdef uint64_t value = (<uint64_t>number << 1) ^ <uint64_t>(number >> 63)
    cdef unsigned char *at = <unsigned char *>_room(b, 10)
    cdef Py_ssize_t size = 0
    while value > 127:
        at[size] = <unsigned char>(value & 127 | 128)
        value >>= 7
        size += 1
    at[size] = <unsigned char>value
    b.used += size + 1
    return 0


cdef inline int _write_bytes(Buffer *b, const char *data, Py_ssize_t size) except -1:
    memcpy(_room(b, size), data, size)
    b.used += size
    return 0


cdef inline int _write_text(Buffer *b, object text) except -1:
    cdef Py_ssize_t size
    cdef const char *data
    if not PyUnicode_CheckExact(text):
        raise _Doubt
    data = PyUnicode_AsUTF8AndSize(text, &size)
    _write_long(b, size)
    return _write_bytes(b, data, size)


cdef inline double _floating(object value) except? -1:
    """Return a float, or a whole number that a double represents exactly. Raises _Doubt for other values."""
    cdef int64_t number
    cdef int overflow = 0
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    if not PyLong_CheckExact(value):
        raise _Doubt
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or number > 1 << 53 or number < -(1 << 53):
        raise _Doubt
    return <double>number


cdef int _write(Node *node, object value, Buffer *b) except -1:
    cdef Kind kind = node.kind
    cdef int64_t number
    cdef int overflow = 0
    cdef double wide
    cdef float narrow
    if kind == STRING:
        return _write_text(b, value)
    if kind == LONG or kind == INT:
        if not PyLong_CheckExact(value):
            raise _Doubt
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow or (kind == INT and number != <int32_t>number):
            raise _Doubt
        return _write_long(b, number)
    if kind == UNION:
        number = _branch_of(node, value)
        _write_long(b, number)
        return _write(&node.children[number], value, b)
    if kind == NULL_VALUE:
        if value is not None:
            raise _Doubt
        return 0
    if kind == RECORD:
        return _write_record(node, value, b)
    if kind == MAP:
        return _write_map(&node.children[0], value, b)
    if kind == ARRAY:
        return _write_array(&node.children[0], value, b)
    if kind == BOOLEAN:
        if value is not True and value is not False:
            raise _Doubt
        return _write_bytes(b, b"\1" if value is True else b"\0", 1)
    if kind == DOUBLE:
        wide = _floating(value)
        return _write_bytes(b, <char *>&wide, 8)
    if kind == FLOAT:
        wide = _floating(value)
        narrow = <float>wide
        if narrow != wide and (not PyFloat_CheckExact(value) or narrow - narrow != 0):
            raise _Doubt  # NaN, a value out of range, or a whole number that would be rounded
        return _write_bytes(b, <char *>&narrow, 4)
    if kind == ENUMERATION:
        if not PyUnicode_CheckExact(value):
            raise _Doubt
        return _write_long(b, (<dict>node.thing)[value])
    if kind == BYTES:
        return _write_sized(b, value)
    if kind == DECIMAL:
        data = (<object>node.thing)(value)
        if node.count < 0:
            _write_long(b, PyBytes_GET_SIZE(data))
        return _write_bytes(b, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    raise _Doubt


cdef Py_ssize_t _branch_of(Node *node, object value) except -1:
    """Return the index of the first branch whose Python type is the value's."""
    cdef Py_ssize_t index
    cdef Kind kind
    cdef PyObject *its_type = <PyObject *>Py_TYPE(value)
    for index in range(node.count):
        kind = node.children[index].kind
        if kind == NULL_VALUE:
            if value is None:
                return index
        elif kind == STRING or kind == ENUMERATION:
            if PyUnicode_CheckExact(value):
                return index
        elif kind == LONG or kind == INT:
            if PyLong_CheckExact(value):
                return index
        elif kind == RECORD:
            if its_type == node.children[index].thing:
                return index
        elif kind == DOUBLE or kind == FLOAT:
            if PyFloat_CheckExact(value):
                return index
        elif kind == BOOLEAN:
            if value is True or value is False:
                return index
        elif kind == BYTES:
            if PyBytes_CheckExact(value):
                return index
        elif kind == DECIMAL:
            if its_type == _decimal:
                return index
        elif kind == ARRAY:
            if PyTuple_CheckExact(value):
                return index
        elif kind == MAP:
            if its_type == _frozen_map:
                return index
    raise _Doubt


cdef inline object _field(Node *node, object record, Py_ssize_t index):
    cdef PyObject *value
    if node.slots == NULL:
        return getattr(record, <object>PyTuple_GET_ITEM(<object>node.names, index))
    value = (<PyObject **>(<char *><PyObject *>record + node.slots[index]))[0]
    if value == NULL:
        raise _Doubt
    return <object>value


cdef int _write_record(Node *node, object record, Buffer *b) except -1:
    cdef Py_ssize_t index
    if <PyObject *>Py_TYPE(record) != node.thing:
        raise _Doubt
    for index in range(node.count):
        _write(&node.children[index], _field(node, record, index), b)
    return 0


cdef int _write_array(Node *item, object items, Buffer *b) except -1:
    cdef Py_ssize_t index, count
    if not PyTuple_CheckExact(items):
        raise _Doubt
    count = PyTuple_GET_SIZE(items)
    if count:
        _write_long(b, count)
        for index in range(count):
            _write(item, <object>PyTuple_GET_ITEM(items, index), b)
    return _write_bytes(b, b"\0", 1)


cdef int _write_map(Node *item, object entries, Buffer *b) except -1:
    cdef Py_ssize_t position = 0
    cdef PyObject *key
    cdef PyObject *value
    if <PyObject *>Py_TYPE(entries) != _frozen_map:
        raise _Doubt
    if PyDict_Size(entries):
        _write_long(b, PyDict_Size(entries))
        while PyDict_Next(entries, &position, &key, &value):
            _write_text(b, <object>key)
            _write(item, <object>value, b)
    return _write_bytes(b, b"\0", 1)


# -- canonical values -------------------------------------------------------------------------------------------------


cdef bint _is_canonical(Node *node, object value) except -1:
    """Return whether a value would be read back with the same type and form. False if it does not fit the type."""
    cdef Py_ssize_t index, position = 0
    cdef PyObject *key
    cdef PyObject *item
    cdef Kind kind = node.kind
    if node.canonical:
        return True
    if kind == DOUBLE:
        return PyFloat_CheckExact(value)
    if kind == FLOAT:
        return PyFloat_CheckExact(value) and <double><float>PyFloat_AS_DOUBLE(value) == PyFloat_AS_DOUBLE(value)
    if kind == DECIMAL:
        return <PyObject *>Py_TYPE(value) == _decimal and value.same_quantum(<object>node.unit) and (
            bool(value) or not value.is_signed())
    if kind == UNION:
        return _is_canonical(&node.children[_branch_of(node, value)], value)
    if kind == RECORD:
        if <PyObject *>Py_TYPE(value) != node.thing:
            return False
        for index in range(node.count):
            if not node.children[index].canonical and not _is_canonical(
                    &node.children[index], _field(node, value, index)):
                return False
        return True
    if kind == ARRAY:
        if not PyTuple_CheckExact(value):
            return False
        for index in range(PyTuple_GET_SIZE(value)):
            if not _is_canonical(&node.children[0], <object>PyTuple_GET_ITEM(value, index)):
                return False
        return True
    if kind == MAP:
        if <PyObject *>Py_TYPE(value) != _frozen_map:
            return False
        while PyDict_Next(value, &position, &key, &item):
            if not _is_canonical(&node.children[0], <object>item):
                return False
        return True
    return False


# -- the codec --------------------------------------------------------------------------------------------------------


cdef class Codec:
    """Encoder and decoder of the framed bytes of one record type.

    Args:
        name: Name of the record type, for errors.
        schema_id: Id of the schema with which records are written.
        contract: Avro type of the record.
        classes: Record classes by full name.
        explain_encode, explain_decode: The functions of the explaining path.
    """

    cdef str _name
    cdef bytes _header
    cdef _Plan _writer
    cdef dict _readers
    cdef uint32_t _last_id
    cdef _Plan _last
    cdef object _explain_encode
    cdef object _explain_decode

    def __init__(self, str name, uint32_t schema_id, contract, classes, explain_encode, explain_decode):
        self._name = name
        self._header = b"\0" + schema_id.to_bytes(4, "big")
        self._writer = _writing(contract, classes)
        self._readers = {}
        self._last = None
        self._explain_encode = explain_encode
        self._explain_decode = explain_decode

    def add(self, uint32_t schema_id, plan):
        """Set the plan by which records of the schema `schema_id` are decoded."""
        self._readers[schema_id] = _reading(plan)

    def is_canonical(self, record):
        """Return whether a record would be read back unchanged. False if it does not fit the contract."""
        try:
            return bool(_is_canonical(&self._writer.root, record))
        except Exception:
            return False

    def encode(self, record):
        """Return the record's framed bytes. Raises EncodeError."""
        cdef char first[FIRST_ROOM]
        cdef Buffer b
        b.start, b.used, b.room, b.heap = first, 0, FIRST_ROOM, NULL
        try:
            _write_bytes(&b, PyBytes_AS_STRING(self._header), 5)
            _write_record(&self._writer.root, record, &b)
            return PyBytes_FromStringAndSize(b.start, b.used)
        except Exception:
            # The explaining path encodes the record, or raises the error with its reason.
            pass
        finally:
            PyMem_Free(b.heap)
        return self._explain_encode(record)

    def decode(self, data):
        """Return the record in framed bytes. Raises DecodeError, Unavailable."""
        cdef _Plan plan
        cdef Cursor c
        try:
            plan = self._reader_of(data)
            if plan is not None:
                c.at = <const unsigned char *>PyBytes_AS_STRING(data) + 5
                c.end = c.at + PyBytes_GET_SIZE(data) - 5
                c.most_items = PyBytes_GET_SIZE(data)
                c.values = _free_values + _values_per_byte * c.most_items
                record = _read(&plan.root, &c)
                if c.at == c.end:
                    return record
        except _TooMany:
            raise DecodeError(unfolds(self._name, PyBytes_GET_SIZE(data))) from None
        except Exception:
            # As in `encode`.
            pass
        return self._explain_decode(data)

    cdef _Plan _reader_of(self, object data):
        """Return the plan for framed bytes, or None if the bytes are not framed or their schema has no plan yet."""
        cdef const unsigned char *head
        cdef uint32_t schema_id
        if not PyBytes_CheckExact(data) or PyBytes_GET_SIZE(data) < 5:
            return None
        head = <const unsigned char *>PyBytes_AS_STRING(data)
        if head[0]:
            return None
        schema_id = <uint32_t>head[1] << 24 | <uint32_t>head[2] << 16 | <uint32_t>head[3] << 8 | head[4]
        if self._last is None or schema_id != self._last_id:
            self._last = self._readers.get(schema_id)
            self._last_id = schema_id
        return self._last


# -- blocks of rows ---------------------------------------------------------------------------------------------------


def encode_rows(list rows):
    """Return keys and values as an Avro array of {bytes, union of null and bytes}. A value of None is a deleted row.

    Return None if a key or value has another type.
    """
    cdef Buffer b
    b.start, b.used, b.room, b.heap = NULL, 0, 0, NULL
    try:
        if rows:
            _write_long(&b, len(rows))
        for key, value in rows:
            _write_sized(&b, key)
            if value is None:
                _write_long(&b, 0)
            else:
                _write_long(&b, 1)
                _write_sized(&b, value)
        _write_long(&b, 0)
        return PyBytes_FromStringAndSize(b.start, b.used)
    except _Doubt:
        return None
    finally:
        PyMem_Free(b.heap)


def decode_rows(data):
    """Return the keys and values from bytes of `encode_rows`, or None if the bytes have another form."""
    cdef Cursor c
    cdef Py_ssize_t count
    cdef int64_t branch
    if not PyBytes_CheckExact(data):
        return None
    c.at = <const unsigned char *>PyBytes_AS_STRING(data)
    c.end = c.at + PyBytes_GET_SIZE(data)
    c.most_items = PyBytes_GET_SIZE(data)
    rows = []
    try:
        count = _read_count(&c)
        while count:
            for _ in range(count):
                key = _read_sized(&c)
                _read_long(&c, &branch)
                if branch < 0 or branch > 1:
                    return None
                rows.append((key, _read_sized(&c) if branch else None))
            count = _read_count(&c)
    except _Doubt:
        return None
    return rows


cdef inline int _write_sized(Buffer *b, object data) except -1:
    if not PyBytes_CheckExact(data):
        raise _Doubt
    _write_long(b, PyBytes_GET_SIZE(data))
    return _write_bytes(b, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline object _read_sized(Cursor *c):
    cdef Py_ssize_t length = _read_length(c)
    return PyBytes_FromStringAndSize(_take(c, length), length)

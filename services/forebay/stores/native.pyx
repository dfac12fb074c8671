# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=False
"""Rows in native memory. Each row is a memory block, with about 50 bytes in addition to its key and value.

A dict of bytes objects would need 140 bytes more. Rows have numbers, and a hash table contains these numbers. The
sorted order of the keys is built when a scan first needs it. From then on it is maintained, in chunks of row numbers. A
store that is never scanned has no order. Reads return copies of the bytes, so that a row can be changed or removed
during a scan.

No function releases the GIL. Only the iterator and the callback of `apply` run other Python code, always between two
changes, when the structures are consistent.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject_Hash
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memmove

cdef enum:
    CHUNK = 512
    FEW = 1024  # up to so many new rows, and a quarter of all, it is faster to insert them one by one than to sort all
    LARGEST = 0x7fffffff

cdef struct Row:
    uint32_t hash
    uint32_t key_size
    uint32_t value_size
    # The bytes of the key and of the value follow in the same memory block.

cdef struct Chunk:
    uint32_t count
    uint32_t rows[CHUNK]

cdef struct Sorting:
    Row *row
    uint32_t number

cdef struct Place:
    size_t chunk
    uint32_t at


cdef inline char *key_of(Row *row) noexcept nogil:
    return <char *> row + sizeof(Row)


cdef inline char *value_of(Row *row) noexcept nogil:
    return <char *> row + sizeof(Row) + row.key_size


cdef inline int compared(Row *row, const char *key, size_t size) noexcept nogil:
    cdef int found = memcmp(key_of(row), key, row.key_size if row.key_size < size else size)
    if found:
        return found
    return -1 if row.key_size < size else row.key_size > size


cdef int in_order(const void *one, const void *other) noexcept nogil:
    cdef Row *row = (<Sorting *> other).row
    return compared((<Sorting *> one).row, key_of(row), row.key_size)


cdef inline void *checked(void *block) except NULL:
    if block == NULL:
        raise MemoryError
    return block


cdef class OrderedRows:
    """Rows by key, in byte order (see `forebay.stores.ordered.OrderedRows`)."""

    row_bytes = 50

    # Rows by number. The entry of a free number is a link to the next free number: 2 * (number + 1) + 1, or 1 at the
    # end. Pointers to rows are aligned, so the lowest bit distinguishes a link from a pointer.
    cdef Row **_rows
    cdef uint32_t _top, _room, _free, _count
    cdef uint32_t *_slots  # the hash table: number + 1 of each row, or 0 for an empty slot
    cdef uint32_t _mask
    cdef bint _is_ordered
    cdef Chunk **_chunks
    cdef size_t _chunk_count, _chunk_room
    cdef uint32_t *_new  # numbers of new rows, which are inserted into the order when a scan or a removal needs it
    cdef uint32_t _new_count, _new_room
    cdef uint64_t _version  # changes with the order, so that scans notice that their place is no longer valid

    def __cinit__(self):
        self._begin()

    def __dealloc__(self):
        self._end()

    def __len__(self):
        return self._count

    def get(self, bytes key not None):
        """Return the value of `key`, or None."""
        cdef uint32_t slot
        cdef Row *row
        if self._count == 0 or not self._find(key, hash_of(key), &slot):
            return None
        row = self._rows[self._slots[slot] - 1]
        return PyBytes_FromStringAndSize(value_of(row), row.value_size)

    def apply(self, changes, held_by):
        """Apply changes, which are keys with new values, or None for a delete.

        Args:
            changes: Keys and values.
            held_by: Returns the prefix of a key's store, and the list [rows, bytes] in which its size is counted
                (`StoreSizes.held_by`). It is called for a key that does not have the prefix of the previous key.
        """
        cdef bytes key, prefix = b""
        cdef list held = [0, 0]
        cdef int64_t rows = 0, size = 0
        try:
            for key, value in changes:
                if key is None:
                    raise TypeError("a row's key is bytes, not None")
                # Consecutive changes mostly belong to one store. Sum them up, and call `held_by` for another store.
                if not starts_with(key, prefix):
                    held[0] += rows
                    held[1] += size
                    rows = size = 0
                    prefix, held = held_by(key)
                if value is None:
                    self._remove(key, &rows, &size)
                else:
                    self._put(key, value, &rows, &size)
        finally:
            held[0] += rows
            held[1] += size

    def scan(self, bytes start not None, bytes end=None):
        """Iterate over entries with start <= key < end in key order. If `end` is None, there is no upper bound."""
        return Scan(self, start, end, False)

    def scan_reverse(self, bytes start not None, bytes end=None):
        """Iterate over entries with start <= key < end in reverse order. If `end` is None, there is no upper bound."""
        return Scan(self, start, end, True)

    def clear(self):
        """Remove all rows."""
        self._end()
        self._begin()

    cdef void _begin(self) noexcept:
        self._rows = NULL
        self._slots = self._new = NULL
        self._chunks = NULL
        self._top = self._room = self._free = self._count = self._mask = 0
        self._new_count = self._new_room = 0
        self._chunk_count = self._chunk_room = 0
        self._is_ordered = False
        self._version += 1

    cdef void _end(self) noexcept:
        cdef size_t number
        for number in range(self._top):
            if not <uintptr_t> self._rows[number] & 1:
                PyMem_Free(self._rows[number])
        for number in range(self._chunk_count):
            PyMem_Free(self._chunks[number])
        PyMem_Free(self._rows)
        PyMem_Free(self._slots)
        PyMem_Free(self._new)
        PyMem_Free(self._chunks)

    # The hash table

    cdef bint _find(self, bytes key, uint32_t hashed, uint32_t *slot) noexcept:
        """Set `slot` to the slot of the key and return True, or to the empty slot for the key and return False."""
        cdef const char *data = PyBytes_AS_STRING(key)
        cdef size_t size = PyBytes_GET_SIZE(key)
        cdef uint32_t at = hashed & self._mask
        cdef Row *row
        while self._slots[at]:
            row = self._rows[self._slots[at] - 1]
            if row.hash == hashed and row.key_size == size and memcmp(key_of(row), data, size) == 0:
                slot[0] = at
                return True
            at = (at + 1) & self._mask
        slot[0] = at
        return False

    cdef int _put(self, bytes key, value, int64_t *rows, int64_t *size) except -1:
        cdef uint32_t hashed = hash_of(key), slot, number
        cdef size_t value_size
        cdef Row *row
        if not PyBytes_CheckExact(value):
            raise TypeError(f"a row's value is bytes, not {type(value).__name__}")
        value_size = PyBytes_GET_SIZE(value)
        if value_size > LARGEST or PyBytes_GET_SIZE(key) > LARGEST:
            raise OverflowError("a row of more than 2 GiB")
        # Reserve all memory of the structures first, because `_numbered` must not fail after the row is counted.
        self._make_room()
        if self._find(key, hashed, &slot):
            number = self._slots[slot] - 1
            row = self._rows[number]
            if value_size != row.value_size:
                row = <Row *> checked(PyMem_Realloc(row, sizeof(Row) + row.key_size + value_size))
                self._rows[number] = row
                # Only now, because without memory the row keeps its former value.
                size[0] += <int64_t> value_size - <int64_t> row.value_size
        else:
            row = <Row *> checked(PyMem_Malloc(sizeof(Row) + PyBytes_GET_SIZE(key) + value_size))
            row.hash = hashed
            row.key_size = PyBytes_GET_SIZE(key)
            memcpy(key_of(row), PyBytes_AS_STRING(key), row.key_size)
            self._slots[slot] = self._numbered(row) + 1
            self._count += 1
            rows[0] += 1
            size[0] += row.key_size + value_size
        row.value_size = value_size
        memcpy(value_of(row), PyBytes_AS_STRING(value), value_size)
        return 0

    cdef uint32_t _numbered(self, Row *row) noexcept:
        """Return a number for a row, which is a released number if there is one. `_make_room` has reserved it."""
        cdef uint32_t number = self._free
        if number:
            number -= 1
            self._free = <uint32_t> (<uintptr_t> self._rows[number] >> 1)
        else:
            number = self._top
            self._top += 1
        self._rows[number] = row
        if self._is_ordered:
            self._new[self._new_count] = number
            self._new_count += 1
        return number

    cdef int _remove(self, bytes key, int64_t *rows, int64_t *size) except -1:
        cdef uint32_t slot, number
        cdef Row *row
        if self._count == 0 or not self._find(key, hash_of(key), &slot):
            return 0
        number = self._slots[slot] - 1
        row = self._rows[number]
        if self._is_ordered:
            # The row may be one of the new rows, which are not in the order yet.
            self._put_in_order()
            self._take_out(row)
        self._empty(slot)
        rows[0] -= 1
        size[0] -= row.key_size + row.value_size
        PyMem_Free(row)
        self._rows[number] = <Row *> ((<uintptr_t> self._free << 1) | 1)
        self._free = number + 1
        self._count -= 1
        return 0

    cdef void _empty(self, uint32_t slot) noexcept:
        """Empty a slot, and move later rows of its probe sequence forward.

        A search ends at an empty slot, so it would not find rows after a gap.
        """
        cdef uint32_t at = slot, wanted
        while True:
            at = (at + 1) & self._mask
            if not self._slots[at]:
                break
            wanted = self._rows[self._slots[at] - 1].hash & self._mask
            if ((at - wanted) & self._mask) >= ((at - slot) & self._mask):
                self._slots[slot] = self._slots[at]
                slot = at
        self._slots[slot] = 0

    cdef int _make_room(self) except -1:
        """Reserve memory for another row: a number, a slot and, if there is an order, an entry of `_new`."""
        cdef uint32_t room, at, number
        cdef uint32_t *slots
        if not self._free and self._top == self._room:
            room = self._room + (self._room >> 3) + 64
            if room < self._room or room >= LARGEST:
                raise MemoryError("too many rows")
            self._rows = <Row **> checked(PyMem_Realloc(self._rows, room * sizeof(Row *)))
            self._room = room
        if self._is_ordered and self._new_count == self._new_room:
            room = 2 * self._new_room + 64
            self._new = <uint32_t *> checked(PyMem_Realloc(self._new, room * sizeof(uint32_t)))
            self._new_room = room
        if self._slots != NULL and 3 * <uint64_t> self._count < 2 * <uint64_t> self._mask:
            return 0
        room = 2 * (self._mask + 1) if self._slots != NULL else 64
        slots = <uint32_t *> checked(PyMem_Calloc(room, sizeof(uint32_t)))
        for number in range(self._top):
            if not <uintptr_t> self._rows[number] & 1:
                at = self._rows[number].hash & (room - 1)
                while slots[at]:
                    at = (at + 1) & (room - 1)
                slots[at] = number + 1
        PyMem_Free(self._slots)
        self._slots, self._mask = slots, room - 1
        return 0

    # The order

    cdef int _put_in_order(self) except -1:
        """Build the order if it does not exist, and insert all new rows into it."""
        cdef uint32_t number
        cdef Row *row
        if not self._is_ordered or self._new_count > FEW + self._count // 4:
            self._rebuild_order()
        # If memory runs out, the remaining rows are still in `_new`, and the next call continues with them.
        while self._new_count:
            number = self._new[self._new_count - 1]
            row = self._rows[number]
            self._insert(self._bound(key_of(row), row.key_size), number)
            self._new_count -= 1
        return 0

    cdef int _rebuild_order(self) except -1:
        cdef Sorting *sorting = <Sorting *> checked(PyMem_Malloc((self._count + 1) * sizeof(Sorting)))
        cdef uint32_t number, count = 0
        cdef size_t needed = self._count // CHUNK + 1
        try:
            for number in range(self._top):
                if not <uintptr_t> self._rows[number] & 1:
                    sorting[count].row = self._rows[number]
                    sorting[count].number = number
                    count += 1
            qsort(sorting, count, sizeof(Sorting), in_order)
            self._need_chunks(needed)
            while self._chunk_count < needed:
                self._chunks[self._chunk_count] = <Chunk *> checked(PyMem_Malloc(sizeof(Chunk)))
                self._chunks[self._chunk_count].count = 0
                self._chunk_count += 1
            while self._chunk_count > needed:
                self._chunk_count -= 1
                PyMem_Free(self._chunks[self._chunk_count])
            for number in range(count):
                self._chunks[number // CHUNK].rows[number % CHUNK] = sorting[number].number
            for number in range(<uint32_t> needed):
                self._chunks[number].count = min(<uint32_t> CHUNK, count - number * CHUNK)
        finally:
            PyMem_Free(sorting)
        self._is_ordered = True
        self._new_count = 0
        self._version += 1
        return 0

    cdef int _need_chunks(self, size_t count) except -1:
        if count > self._chunk_room:
            self._chunks = <Chunk **> checked(PyMem_Realloc(self._chunks, (count + count // 4) * sizeof(Chunk *)))
            self._chunk_room = count + count // 4
        return 0

    cdef Place _bound(self, const char *key, size_t size) noexcept:
        """Return the place of the first row that is not before the key.

        If this row is the first one of a chunk, the result is the end of the chunk before it.
        """
        cdef Place place
        cdef size_t low = 0, high = self._chunk_count, middle
        cdef Chunk *chunk
        while low < high:
            middle = (low + high) // 2
            chunk = self._chunks[middle]
            if chunk.count and compared(self._rows[chunk.rows[0]], key, size) < 0:
                low = middle + 1
            else:
                high = middle
        place.chunk = low - 1 if low else 0
        chunk = self._chunks[place.chunk]
        low, high = 0, chunk.count
        while low < high:
            middle = (low + high) // 2
            if compared(self._rows[chunk.rows[middle]], key, size) < 0:
                low = middle + 1
            else:
                high = middle
        place.at = <uint32_t> low
        return place

    cdef int _insert(self, Place place, uint32_t number) except -1:
        cdef Chunk *chunk = self._chunks[place.chunk]
        cdef Chunk *other
        cdef uint32_t kept
        if chunk.count == CHUNK:
            # If rows arrive in key order, do not split the chunk in half. Otherwise all chunks would remain half empty.
            kept = CHUNK if place.at == CHUNK else CHUNK // 2
            self._need_chunks(self._chunk_count + 1)
            other = <Chunk *> checked(PyMem_Malloc(sizeof(Chunk)))
            other.count = CHUNK - kept
            memcpy(other.rows, &chunk.rows[kept], other.count * sizeof(uint32_t))
            chunk.count = kept
            memmove(
                &self._chunks[place.chunk + 2],
                &self._chunks[place.chunk + 1],
                (self._chunk_count - place.chunk - 1) * sizeof(Chunk *),
            )
            self._chunks[place.chunk + 1] = other
            self._chunk_count += 1
            if place.at >= kept:
                place.at -= kept
                chunk = other
        memmove(&chunk.rows[place.at + 1], &chunk.rows[place.at], (chunk.count - place.at) * sizeof(uint32_t))
        chunk.rows[place.at] = number
        chunk.count += 1
        self._version += 1
        return 0

    cdef void _take_out(self, Row *row) noexcept:
        """Remove a row from the order. Remove its chunk, too, if it is empty or fits into the chunk before it."""
        cdef Place place = self._bound(key_of(row), row.key_size)
        cdef Chunk *chunk = self._chunks[place.chunk]
        cdef Chunk *before
        if place.at == chunk.count:
            place.chunk, place.at = place.chunk + 1, 0
            chunk = self._chunks[place.chunk]
        chunk.count -= 1
        memmove(&chunk.rows[place.at], &chunk.rows[place.at + 1], (chunk.count - place.at) * sizeof(uint32_t))
        self._version += 1
        if self._chunk_count == 1 or chunk.count >= CHUNK // 4:
            return
        if chunk.count:
            if not place.chunk or self._chunks[place.chunk - 1].count >= CHUNK // 2:
                return
            before = self._chunks[place.chunk - 1]
            memcpy(&before.rows[before.count], chunk.rows, chunk.count * sizeof(uint32_t))
            before.count += chunk.count
        PyMem_Free(chunk)
        self._chunk_count -= 1
        memmove(
            &self._chunks[place.chunk],
            &self._chunks[place.chunk + 1],
            (self._chunk_count - place.chunk) * sizeof(Chunk *),
        )


cdef class Scan:
    """Iterator over entries. Rows may change between two steps. Each step returns an entry as it is at that time."""

    cdef OrderedRows _of
    cdef bytes _start, _end
    cdef bint _is_reverse
    cdef uint64_t _version
    cdef Place _place  # place of the next row, or in a reverse scan of the previous row

    def __cinit__(self, OrderedRows rows, bytes start, bytes end, bint is_reverse):
        self._of, self._start, self._end, self._is_reverse = rows, start, end, is_reverse
        self._version = 0

    def __iter__(self):
        return self

    def __next__(self):
        cdef OrderedRows of = self._of
        cdef Row *row
        cdef bytes key
        if of._count == 0:
            raise StopIteration
        # If the order has changed since the last step, find the place again by the key at which the scan continues.
        if self._version != of._version or of._new_count or not of._is_ordered:
            of._put_in_order()
            self._seek()
        row = self._before() if self._is_reverse else self._next()
        if row == NULL:
            raise StopIteration
        key = PyBytes_FromStringAndSize(key_of(row), row.key_size)
        # The bound at which the scan continues if the order changes. `key + b"\0"` is the smallest key after `key`.
        if self._is_reverse:
            self._end = key
        else:
            self._start = key + b"\0"
        return key, PyBytes_FromStringAndSize(value_of(row), row.value_size)

    cdef void _seek(self) noexcept:
        """Set the place from the bounds."""
        cdef OrderedRows of = self._of
        self._version = of._version
        if not self._is_reverse:
            self._place = of._bound(PyBytes_AS_STRING(self._start), PyBytes_GET_SIZE(self._start))
        elif self._end is not None:
            self._place = of._bound(PyBytes_AS_STRING(self._end), PyBytes_GET_SIZE(self._end))
        else:
            self._place.chunk = of._chunk_count - 1
            self._place.at = of._chunks[self._place.chunk].count

    cdef Row *_next(self) noexcept:
        cdef OrderedRows of = self._of
        cdef Row *row
        while self._place.at == of._chunks[self._place.chunk].count:
            if self._place.chunk + 1 == of._chunk_count:
                return NULL
            self._place.chunk, self._place.at = self._place.chunk + 1, 0
        row = of._rows[of._chunks[self._place.chunk].rows[self._place.at]]
        if self._end is not None and compared(row, PyBytes_AS_STRING(self._end), PyBytes_GET_SIZE(self._end)) >= 0:
            return NULL
        self._place.at += 1
        return row

    cdef Row *_before(self) noexcept:
        cdef OrderedRows of = self._of
        cdef Row *row
        while self._place.at == 0:
            if self._place.chunk == 0:
                return NULL
            self._place.chunk -= 1
            self._place.at = of._chunks[self._place.chunk].count
        self._place.at -= 1
        row = of._rows[of._chunks[self._place.chunk].rows[self._place.at]]
        if compared(row, PyBytes_AS_STRING(self._start), PyBytes_GET_SIZE(self._start)) < 0:
            return NULL
        return row


cdef inline uint32_t hash_of(bytes key) except *:
    cdef uint64_t hashed = <uint64_t> PyObject_Hash(key)
    return <uint32_t> (hashed ^ (hashed >> 32))


cdef inline bint starts_with(bytes key, bytes prefix) noexcept:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(prefix)
    return (
        size > 0
        and PyBytes_GET_SIZE(key) >= size
        and memcmp(PyBytes_AS_STRING(key), PyBytes_AS_STRING(prefix), size) == 0
    )

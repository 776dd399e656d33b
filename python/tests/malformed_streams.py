"""Streams of Arrow that are not what they say, made of ctypes: run by test_malformed_streams.py in
a process of its own, which must not crash.

    python malformed_streams.py FIRST_SEED COUNT

Everything that a consumer can notice may be wrong: what a field of a structure says, which pointer
is null, what offsets and indexes are. What nobody can notice is not: buffers are as long as all
lengths need that are left, and pointers are null or valid.
"""

import ctypes
import random
import sys

import xxl

P = ctypes.POINTER


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, P(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, P(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, P(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, P(Stream), P(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, P(Stream), P(Array))
GET_LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, P(Stream))

Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", P(P(Schema))),
    ("dictionary", P(Schema)), ("release", RELEASE_SCHEMA), ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", P(ctypes.c_void_p)),
    ("children", P(P(Array))), ("dictionary", P(Array)), ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", GET_LAST_ERROR),
    ("release", RELEASE_STREAM), ("private_data", ctypes.c_void_p),
]

ROWS = 20
SPARE_BYTES = 4096  # of each buffer: what a length may be wrong by

KEPT = []  # what is pointed to, for ever


def kept(thing):
    KEPT.append(thing)
    return thing


@RELEASE_SCHEMA
def release_schema(schema):
    schema.contents.release = RELEASE_SCHEMA()


@RELEASE_ARRAY
def release_array(array):
    array.contents.release = RELEASE_ARRAY()


@RELEASE_STREAM
def release_stream(stream):
    stream.contents.release = RELEASE_STREAM()


def pointers(kind, things):
    """An array of pointers to structures."""
    table = (P(kind) * max(len(things), 1))(*map(ctypes.pointer, things))
    return kept(table)


def make_schema(form, name="", children=(), dictionary=None):
    return kept(Schema(
        format=form.encode(), name=name.encode(), metadata=None, flags=2,
        n_children=len(children), children=pointers(Schema, children),
        dictionary=ctypes.pointer(dictionary) if dictionary is not None else None,
        release=release_schema))


def make_array(buffers, children=(), dictionary=None, length=ROWS):
    table = (ctypes.c_void_p * max(len(buffers), 1))()
    for i, buffer in enumerate(buffers):
        if buffer is None:
            continue
        data = kept(ctypes.create_string_buffer(bytes(buffer) + bytes(SPARE_BYTES)))
        table[i] = ctypes.addressof(data)
    return kept(Array(
        length=length, null_count=-1, offset=0, n_buffers=len(buffers), n_children=len(children),
        buffers=kept(table), children=pointers(Array, children),
        dictionary=ctypes.pointer(dictionary) if dictionary is not None else None,
        release=release_array))


def packed(kind, values):
    return bytes((kind * len(values))(*values))


VALID = b"\xfe\xff\xff"  # the first row is null


def int64_column():
    return make_schema("l", "a"), make_array([VALID, packed(ctypes.c_int64, range(ROWS))])


def text_column(name="b", form="u", kind=ctypes.c_int32):
    offsets = packed(kind, range(0, 3 * ROWS + 1, 3))
    return make_schema(form, name), make_array([VALID, offsets, b"abc" * ROWS])


def view_column():
    views = bytearray()
    for row in range(ROWS):
        if row % 2:
            views += packed(ctypes.c_int32, [3]) + b"abc" + bytes(9)
        else:
            views += packed(ctypes.c_int32, [20]) + b"abcd" + packed(ctypes.c_int32, [0, 7])
    data = b"_______abcdefghijklmnopqrst"
    return make_schema("vu", "v"), make_array(
        [VALID, views, data, packed(ctypes.c_int64, [len(data)])])


def dictionary_column():
    _, values = text_column()
    indexes = packed(ctypes.c_int8, [row % 5 for row in range(ROWS)])
    return (make_schema("c", "d", dictionary=make_schema("u")),
            make_array([VALID, indexes], dictionary=values))


def list_column():
    offsets = packed(ctypes.c_int32, range(ROWS + 1))
    return (make_schema("+l", "e", [make_schema("l", "item")]),
            make_array([VALID, offsets], [int64_column()[1]]))


def struct_column():
    schemas, arrays = zip(int64_column(), text_column())
    return make_schema("+s", "s", schemas), make_array([VALID], arrays)


def map_column():
    entries = make_schema("+s", "entries", [make_schema("u", "key"), make_schema("l", "value")])
    pairs = make_array([None], [text_column()[1], int64_column()[1]])
    return (make_schema("+m", "m", [entries]),
            make_array([VALID, packed(ctypes.c_int32, range(ROWS + 1))], [pairs]))


def fixed_column():
    return make_schema("w:3", "w"), make_array([VALID, b"xyz" * ROWS])


def bool_column():
    return make_schema("b", "t"), make_array([VALID, b"\x55\xaa\x55"])


def decimal_column():
    return make_schema("d:20,2", "z"), make_array([VALID, bytes(range(16)) * ROWS])


def null_column():
    return make_schema("n", "n"), make_array([])


COLUMNS = [int64_column, text_column, view_column, dictionary_column, list_column, struct_column,
           map_column, fixed_column, bool_column, decimal_column, null_column,
           lambda: text_column("B", "Z", ctypes.c_int64),
           lambda: text_column("c", "z"), lambda: text_column("L", "U", ctypes.c_int64)]


def all_of(root, children):
    found = [root]
    for i in range(root.n_children):
        found += all_of(root.children[i].contents, children)
    if root.dictionary:
        found += all_of(root.dictionary.contents, children)
    return found


FORMATS = [b"", b"l", b"u", b"+s", b"+l", b"+m", b"+w:", b"+w:-1", b"+w:99999999999999999999",
           b"w:", b"w:-4", b"w:0", b"d:", b"d:0,0", b"d:38", b"d:19,2,512", b"d:19,2,256", b"tdD",
           b"ts", b"tsx:", b"tss:Nowhere/Land", b"+us:0,1", b"+ud:0", b"+r", b"+vl", b"?", b"ll",
           b"e", b"\xff\xfe", b"vz", b"vu", b"n", b"+", b"t", b"tiM", b"w:100"]
NUMBERS = [-1, -2, 0, 1, 2, 3, 5, 1 << 31, 1 << 62, (1 << 63) - 1, -(1 << 63)]


def spoil_schema(rng, schema):
    one = rng.choice(all_of(schema, None))
    what = rng.choice(["format", "format", "format", "null format", "name", "children",
                       "count of children", "null children", "no child", "dictionary",
                       "metadata", "flags", "released"])
    if what == "format":
        one.format = rng.choice(FORMATS)
    elif what == "null format":
        one.format = None
    elif what == "name":
        one.name = rng.choice([None, b"", b"\xff", b"a" * 100000])
    elif what == "children":
        one.children = pointers(Schema, [make_schema("l", "x")] * 8)
        one.n_children = rng.choice([1, 2, 8])
    elif what == "count of children":
        # More than there are cannot be noticed, if they are there.
        one.n_children = rng.choice([-1, -(1 << 63), *range(one.n_children)])
    elif what == "null children":
        one.children = None
        one.n_children = rng.choice([one.n_children, 1, 1 << 62])
    elif what == "no child" and one.n_children > 0:
        one.children[rng.randrange(one.n_children)] = P(Schema)()
    elif what == "dictionary":
        one.dictionary = rng.choice([
            P(Schema)(), ctypes.pointer(make_schema("u")), ctypes.pointer(make_schema("?")),
            ctypes.pointer(make_schema("c", dictionary=make_schema("u")))])
    elif what == "metadata":
        one.metadata = ctypes.addressof(kept(ctypes.create_string_buffer(
            rng.choice([bytes(64), packed(ctypes.c_int32, [-1]) + bytes(64),
                        packed(ctypes.c_int32, [1, -5]) + bytes(64)]))))
    elif what == "flags":
        one.flags = rng.choice([0, 1, -1, 7])
    elif what == "released":
        schema.release = RELEASE_SCHEMA()
    return what


def spoil_array(rng, array):
    one = rng.choice(all_of(array, None))
    what = rng.choice(["length", "length", "offset", "null count", "count of buffers",
                       "null buffers", "null buffer", "null buffer", "values", "values", "values",
                       "count of children", "null children", "no child", "dictionary"])
    if what == "length":
        # A child that is too short; or one for which the buffers still suffice.
        one.length = rng.choice([-1, -(1 << 63), 0, 1, ROWS - 1, ROWS + 1, ROWS + 5])
    elif what == "offset":
        one.offset = rng.choice([-1, -(1 << 63), 1, 8, (1 << 63) - 1])
        if one.offset > 8 and one.length >= 0:
            one.length = max(one.length, 2)
    elif what == "null count":
        one.null_count = rng.choice(NUMBERS)
    elif what == "count of buffers":
        one.n_buffers = rng.choice([-1, -(1 << 63), *range(max(one.n_buffers, 0))])
    elif what == "null buffers":
        one.buffers = None
    elif what == "null buffer" and one.n_buffers > 0:
        one.buffers[rng.randrange(one.n_buffers)] = None
    elif what == "values" and one.n_buffers > 1 and one.buffers:
        # Offsets that run backwards or away, indexes of no value, views of nothing, any bits.
        at = one.buffers[1]
        if at:
            # Not the last offset: nobody can see that it is too large.
            where = 4 * rng.randrange(ROWS - 2)
            data = rng.choice([b"\xff" * 4, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\0\0\0\x80",
                               b"\x7f" * 8, bytes(4), rng.randbytes(8), rng.randbytes(1)])
            ctypes.memmove(at + where, data, len(data))
    elif what == "count of children":
        one.n_children = rng.choice([-1, -(1 << 63), *range(max(one.n_children, 0))])
    elif what == "null children":
        one.children = None
        one.n_children = rng.choice([one.n_children, 1, 1 << 62])
    elif what == "no child" and one.n_children > 0 and one.children:
        one.children[rng.randrange(one.n_children)] = P(Array)()
    elif what == "dictionary":
        one.dictionary = rng.choice([P(Array)(), ctypes.pointer(make_array([None, None, None]))])
    return what


class Source:
    """A table whose stream gives this schema and these batches, then maybe an error."""

    def __init__(self, rng, schema, batches, what):
        self.what = what
        failing = rng.random()

        @GET_SCHEMA
        def get_schema(_, out):
            if failing < 0.03:
                return 5
            out[0] = schema
            return 0

        @GET_NEXT
        def get_next(_, out):
            if failing > 0.97:
                return rng.choice([5, 12, 22, -1])
            if not batches:
                out[0] = Array()
            else:
                out[0] = batches.pop(0)
            return 0

        @GET_LAST_ERROR
        def get_last_error(_):
            return None if failing > 0.985 else ctypes.addressof(MESSAGE)

        self.stream = kept(Stream(get_schema=get_schema, get_next=get_next,
                                  get_last_error=get_last_error, release=release_stream))
        kept([get_schema, get_next, get_last_error])

    def __arrow_c_stream__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.stream), CAPSULE_NAME, None)


MESSAGE = ctypes.create_string_buffer(b"the stream fails")
CAPSULE_NAME = b"arrow_array_stream"


def random_source(rng):
    made = [column() for column in rng.sample(COLUMNS, rng.randint(1, 4))]
    if not any(schema.name == b"a" for schema, _ in made):
        made.append(int64_column())
    rng.shuffle(made)
    schemas, arrays = zip(*made)
    schema = make_schema("+s", "", schemas)
    batches = [make_array([None], arrays)]
    second = [column[1] for column in made]
    batches.append(make_array([None], second))
    if rng.random() < 0.4:
        what = spoil_schema(rng, schema)
    else:
        what = spoil_array(rng, rng.choice(batches))
    by = rng.choice([schema.name for schema, _ in made]) or b"a"
    return Source(rng, schema, batches, what), by.decode(errors="replace")


def main(first, count):
    outcomes = {"given": 0, "refused": 0}
    for seed in range(first, first + count):
        stream = None  # before what it was made of
        KEPT.clear()
        rng = random.Random(seed)
        source, by = random_source(rng)
        print(f"{seed} {source.what} {by[:20]}", file=sys.stderr, flush=True)
        try:
            if rng.random() < 0.7:
                stream = xxl.sort(source, by, memory="64M", unique=rng.random() < 0.2)
            else:
                other, _ = random_source(rng)
                stream = xxl.join(source, other, on="a", memory="64M", how="full")
            for batch in stream:
                batch.__arrow_c_array__()
            outcomes["given"] += 1
        except (xxl.Error, MemoryError):
            outcomes["refused"] += 1
    print(outcomes["given"], outcomes["refused"])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

# headers.py: reads Kiln's public headers into enums, structs and functions.
#
# The headers keep one form (typedef enum, typedef struct, KILN_API functions), so this is no C parser: what it does not understand is an
# error with the line's text, never a guess. Comments are kept: they become the documentation of the generated code.
import re
from dataclasses import dataclass, field

# C type: ctypes name, letter of the module struct, size
SCALARS = {
    "bool": ("c_bool", "?", 1),
    "char": ("c_char", "c", 1),
    "int": ("c_int", "i", 4),
    "int32_t": ("c_int32", "i", 4),
    "uint8_t": ("c_uint8", "B", 1),
    "uint16_t": ("c_uint16", "H", 2),
    "uint32_t": ("c_uint32", "I", 4),
    "kiln_node": ("c_uint32", "I", 4),
    "int64_t": ("c_int64", "q", 8),
    "uint64_t": ("c_uint64", "Q", 8),
    "size_t": ("c_size_t", "Q", 8),
    "float": ("c_float", "f", 4),
    "double": ("c_double", "d", 8),
}


@dataclass
class Field:
    name: str
    type: str  # without const and *
    is_pointer: int = 0  # how many stars
    count: int = 0  # of an array; 0: none
    text: str = ""  # its comment


@dataclass
class Struct:
    name: str
    fields: list
    text: str = ""  # the comment before it


@dataclass
class Function:
    name: str
    result: Field
    parameters: list
    text: str = ""


@dataclass
class Headers:
    constants: dict = field(default_factory=dict)
    enums: dict = field(default_factory=dict)  # name: [(constant, value)]
    structs: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)
    sections: list = field(default_factory=list)  # (title, names of functions)
    texts: dict = field(default_factory=dict)  # of enum constants


def comment_text(lines):
    return " ".join(line.strip() for line in lines if line.strip())


def split_comments(text):
    """Lines of (code, comment)."""
    for line in text.split("\n"):
        code, _, comment = line.partition("//")
        yield code.rstrip(), comment.strip()


def parse_declarator(text, comment=""):
    """'const char *name' and 'uint64_t sizes[8]' as a Field; a pointer to a function counts as a pointer."""
    text = " ".join(text.split())
    if "(*" in text:
        return Field(re.search(r"\(\*(\w+)\)", text).group(1), "void", 1, 0, comment)
    text = re.sub(r"\b(const|struct|enum)\b", " ", re.sub(r"KILN_ALIGN\(\d+\)", "", text))
    match = re.fullmatch(r"\s*(\w+)\s*((?:\*\s*)*)(\w*)\s*(?:\[(\w+)\])?\s*", text)
    if not match:
        raise SystemExit("headers.py: cannot read '%s'" % text)
    kind, stars, name, count = match.groups()
    return Field(name, kind, stars.count("*"), count or 0, comment)


def parse_fields(body, constants):
    fields, pending, comments = [], "", []
    before = []  # comments on lines of their own
    for code, comment in split_comments(body):
        if not code.strip():
            if comment:
                if fields and not pending and fields[-1].name and before == [] and comments:
                    fields[-1].text = (fields[-1].text + " " + comment).strip()
                else:
                    before.append(comment)
            continue
        pending += " " + code.strip()
        comments = [comment] if comment else []
        if comment:
            before.append(comment)
        if not pending.endswith(";"):
            continue
        text = " ".join(before).strip()
        before = []
        for declaration in filter(str.strip, pending.split(";")):
            if "(*" in declaration:
                fields.append(parse_declarator(declaration, text))
                continue
            parts = declaration.split(",")
            first = parse_declarator(parts[0], text)
            fields.append(first)
            base = re.match(r"\s*((?:const\s+|struct\s+|enum\s+)*\w+)", parts[0]).group(1)
            for part in parts[1:]:
                fields.append(parse_declarator(base + " " + part, text))
        pending = ""
    for one in fields:
        one.count = int(constants.get(one.count, one.count))
    return fields


def read(paths):
    headers = Headers()
    text = "\n".join(open(path).read() for path in paths)
    text = re.sub(r"#(?:ifndef|ifdef|if|else|elif|endif|include|define|undef|pragma)(?:[^\n]*\\\n)*[^\n]*", "", text)
    text = re.sub(r"#\s*(?:define|include)(?:[^\n]*\\\n)*[^\n]*", "", text)
    text = re.sub(r'extern "C" \{', "", text)
    position, before, section = 0, [], None
    lines = text.split("\n")
    while position < len(lines):
        line = lines[position]
        if line.startswith("//"):
            if line.startswith("// --- "):
                section = (line[7:].strip(), [])
                headers.sections.append(section)
                before = []
            else:
                before.append(line[2:].strip())
            position += 1
            continue
        start = line.split("//")[0].strip()
        if not start:
            before = []
            position += 1
            continue
        # A declaration goes on to the semicolon outside of all braces; its comments stay with it.
        chunk, depth = [], 0
        while position < len(lines):
            code = lines[position].split("//")[0]
            chunk.append(lines[position])
            depth += code.count("{") - code.count("}")
            position += 1
            if depth <= 0 and (code.rstrip().endswith(";") or (code.strip() == "}" and chunk)):
                break
        declare(headers, "\n".join(chunk), comment_text(before), section)
        before = []
    return headers


def declare(headers, chunk, before, section):
    plain = "\n".join(code for code, _ in split_comments(chunk))
    match = re.match(r"\s*(?:typedef\s+)?enum\s*(\w*)\s*\{(.*)\}\s*(\w*)\s*;", plain, re.S)
    if match:
        value, rows = 0, []
        for code, comment in split_comments(chunk):
            name = re.match(r"\s*(\w+)\s*(?:=[^,]*)?,?\s*$", code)
            if name and comment:
                headers.texts[name.group(1)] = comment
        for part in filter(None, (p.strip() for p in match.group(2).split(","))):
            name, _, given = (s.strip() for s in part.partition("="))
            value = int(given, 0) if given else value
            rows.append((name, value))
            headers.constants[name] = value
            value += 1
        if match.group(1):
            headers.enums[match.group(1)] = rows
        return
    match = re.match(r"\s*(?:typedef\s+)?struct\s+(\w+)\s*\{", plain)
    if match:
        body = chunk[chunk.index("{") + 1 : chunk.rindex("}")]
        headers.structs[match.group(1)] = Struct(match.group(1), parse_fields(body, headers.constants), before)
        return
    match = re.match(r"\s*KILN_API\s+(.*?)\s*(\**)(\w+)\((.*)\)\s*;", " ".join(plain.split()))
    if match:
        result, stars, name, arguments = match.groups()
        parameters = [] if arguments == "void" else [parse_declarator(a) for a in split_arguments(arguments)]
        headers.functions[name] = Function(name, parse_declarator(result + " " + stars + " result"), parameters, before)
        if section:
            section[1].append(name)


def split_arguments(text):
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return parts + [text[start:]]


def layout(headers, name, flat=()):
    """(format of the module struct without its byte order, size, alignment, [(field, offset)]) of a struct, with C's padding.
    Structs within it are bytes, but for those of `flat`, whose fields take their place."""
    form, at, most, offsets = "", 0, 1, []
    for one in headers.structs[name].fields:
        letter, size, align = field_layout(headers, one, flat)
        gap = -at % align
        form += "%dx" % gap if gap else ""
        at += gap
        offsets.append((one, at))
        count = one.count or 1
        form += letter * count
        at, most = at + size * count, max(most, align)
    gap = -at % most
    return form + ("%dx" % gap if gap else ""), at + gap, most, offsets


def field_layout(headers, one, flat=()):
    if one.is_pointer:
        return "Q", 8, 8
    if one.type in SCALARS:
        _, letter, size = SCALARS[one.type]
        return letter, size, size
    if one.type in headers.enums:
        return "i", 4, 4
    form, size, align, _ = layout(headers, one.type, flat)
    return form if one.type in flat else "%ds" % size, size, align

# Makes documentation for Doxygen of the comments of the public headers: of a block in front of a
# declaration ///, of one behind it ///<. The block that opens a file is that of the file. A block that
# opens a paragraph is for all of its declarations that have none of their own. Bodies of functions
# stay as they are, and every line where it is.

# The text of a comment, of which Doxygen is to understand nothing but paragraphs and code.
function plain(text) {
  if (text ~ /^   /) return "  " text  # an example
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  gsub(/[@\\#]/, "\\\\&", text)
  gsub(/--/, "\\\\--", text)
  return text
}
function indent_of(line) {
  match(line, /^ */)
  return RLENGTH
}

body >= 0 {
  print
  if ($0 ~ /^ *}/ && indent_of($0) <= body) body = -1
  next
}
/^ *\/\// {
  at = indent_of($0)
  text = plain(substr($0, at + 3))
  if (at == column) {  # a comment behind a declaration goes on
    print substr($0, 1, at) "///<" text
  } else {
    if (block == "") {
      opens_paragraph = after_empty
      paragraph = ""
    }
    block = block substr($0, 1, at) "///" text "\n"
  }
  after_empty = 0
  next
}
{ column = -1 }
/^#pragma once/ {  # no line more, none less: warnings name the lines of the header
  printf "%s", block
  block = ""
  print "/// \\file"
  next
}
/^ *$/ || /^ *(public|private):$/ {
  printf "%s", block
  block = paragraph = ""
  after_empty = 1
  print
  next
}
{
  after_empty = 0
  if (block != "") {
    printf "%s", block
    if (opens_paragraph) {
      paragraph = block
      gsub(/\n? *\/\/\//, "", paragraph)
      sub(/\n$/, "", paragraph)
    }
    block = ""
    paragraph_indent = indent_of($0)
  } else if (paragraph != "" && indent_of($0) == paragraph_indent && $0 !~ /^ *[}#]/ && !unfinished) {
    printf "/** %s */", paragraph
  }
  unfinished = $0 ~ /^ *(template|requires)/ && $0 !~ /[;}]$/
  if ($0 ~ /\{$/ && $0 !~ /(class|struct|enum|namespace|union|public) / ) body = indent_of($0)
}
!/^ *}/ && match($0, /  \/\/ /) {
  column = RSTART + 1
  print substr($0, 1, column) "///<" plain(substr($0, column + 3))
  next
}
{ print }
BEGIN { body = column = -1 }

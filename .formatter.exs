# The words of a behaviour read without parentheses, here and in projects that import this file.
behaviour = [
  defactor: 2,
  defchange: 2,
  defdirectory: 2,
  defeffect: 1,
  defeffect: 2,
  defpure: 1,
  defpure: 2,
  defpurep: 1,
  defpurep: 2,
  create: 1,
  create: 2,
  send: 2,
  sendx: 3,
  send_after: 3,
  become: 1,
  stash: 1,
  abort: 1
]

# stream_data's own list, inlined: import_deps would need the Hex package to be there.
properties = [all: :*, gen: 1, gen: 2, check: 1, check: 2, property: 1, property: 2]

[
  inputs: [
    "{mix,.formatter}.exs",
    "{config,lib,test,bench,examples}/**/*.{ex,exs}",
    "offline/*/{mix,.formatter}.exs",
    "offline/*/{lib,test}/**/*.{ex,exs}"
  ],
  line_length: 110,
  locals_without_parens: behaviour ++ properties ++ [deftemplate: 2],
  export: [locals_without_parens: behaviour]
]

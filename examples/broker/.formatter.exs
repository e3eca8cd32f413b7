[
  import_deps: [:mote],
  inputs: ["{mix,.formatter}.exs", "*.exs", "{lib,test}/**/*.{ex,exs}"],
  line_length: 110
]

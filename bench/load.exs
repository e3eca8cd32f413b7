# Builds the project in this directory for the current environment, and lets the project above have its modules. Run from this
# directory, there is nothing to do.
if Mix.Project.config()[:app] == :mote do
  env = [{"MIX_ENV", "#{Mix.env()}"}, {"MIX_BUILD_PATH", Mix.Project.build_path()}, {"MIX_EXS", nil}]
  # Apart from figures, which go to the standard output.
  build = [cd: __DIR__, env: env, into: IO.stream(:stderr, :line)]
  with {_, status} when status != 0 <- System.cmd("mix", ["compile"], build), do: exit({:shutdown, status})

  Code.prepend_path(Path.join(Mix.Project.build_path(), "lib/mote_bench/ebin"))
end

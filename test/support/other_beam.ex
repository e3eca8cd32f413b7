defmodule Mote.OtherBEAM do
  @moduledoc """
  Runs code in an operating system process of its own, for what must not happen to the one that runs the tests.
  """

  @doc """
  Evaluates the code with Mote started; gives its output and the exit status. `before` is what the shell does first, such as
  `ulimit -n 96`.
  """
  @spec run(String.t(), [String.t()], String.t()) :: {String.t(), non_neg_integer}
  def run(code, flags \\ [], before \\ ":") do
    paths = for path <- :code.get_path(), path = to_string(path), path =~ ~r"/_build/", do: ["-pa", path]
    start = "{:ok, _} = Application.ensure_all_started(:mote)\n"
    args = List.flatten(paths) ++ flags ++ ["-e", start <> code]
    shell = ["-c", before <> "; exec elixir \"$@\"", "sh"]
    System.cmd("sh", shell ++ args, stderr_to_stdout: true, env: [{"ERL_CRASH_DUMP", "/dev/null"}])
  end

  @doc "The names of this process's threads that belong to machines; `nil` where they cannot be seen."
  @spec threads() :: [String.t()] | nil
  def threads do
    case File.ls("/proc/self/task") do
      {:ok, tasks} ->
        names = Enum.map(tasks, &File.read("/proc/self/task/#{&1}/comm"))
        for {:ok, "mote-" <> name} <- names, do: String.trim(name)

      _ ->
        nil
    end
  end
end

defmodule Mote.Turn.Direct do
  # How a `defpure` function that plain Elixir calls fails: it raises.
  #
  # A stacktrace names the functions as they are written, and none of Mote's own.
  @moduledoc false

  @doc "Calls a function of the library: what failed in it is told of the call."
  @spec told({module, non_neg_integer, Mote.Raised.operation()}, tuple, (() -> value)) :: value
        when value: term
  def told(where, arguments, fun) do
    fun.()
  rescue
    _ -> failed({:raised, where, arguments}, __STACKTRACE__)
  end

  @doc "Raises what the reason of an abort stands for."
  @spec abort(term) :: no_return
  def abort(reason) do
    {:current_stacktrace, stacktrace} = Process.info(self(), :current_stacktrace)
    failed(reason, stacktrace)
  end

  @doc "The same, with the stacktrace of what failed."
  @spec failed(term, Exception.stacktrace()) :: no_return
  def failed({:raised, {module, line, _operation}, _arguments} = reason, stacktrace),
    do: reraise(Mote.Raised.exception(reason), frames(stacktrace) |> from_line(module, line))

  def failed(reason, stacktrace), do: reraise(Mote.Abort, [reason: reason], frames(stacktrace))

  # Without those of Mote where it failed and where it was called.
  defp frames(stacktrace) do
    for {module, name, arity, place} <- stacktrace,
        not own?(module) and {module, name} != {Process, :info},
        do: {module, written(name), arity, place}
  end

  # A function whose last operation fails has no frame any more. Its line is known, but not its name.
  defp from_line([{module, _, _, place} | _] = stacktrace, module, line) do
    if place[:line] == line, do: stacktrace, else: [line(module, line) | stacktrace]
  end

  defp from_line(stacktrace, module, line), do: [line(module, line) | stacktrace]

  defp line(module, line) do
    source = if Code.ensure_loaded?(module), do: module.module_info(:compile)[:source]
    {module, :__MODULE__, 0, [file: Path.relative_to_cwd(source || "nofile") |> to_charlist(), line: line]}
  end

  defp own?(module) do
    case Atom.to_string(module) do
      "Elixir.Mote.Turn" <> _ -> true
      "Elixir.Mote.Total" <> _ -> true
      "Elixir.Mote.Prelude." <> _ -> true
      _ -> false
    end
  end

  # Functions have other names as well, those that turns call above all.
  defp written(name) do
    case Atom.to_string(name) do
      "mote direct " <> name -> String.to_atom(name)
      "mote " <> name -> String.to_atom(name)
      _ -> name
    end
  end
end

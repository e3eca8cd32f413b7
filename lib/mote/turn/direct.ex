defmodule Mote.Turn.Direct do
  # How a `defpure` function that plain Elixir calls fails: it raises.
  #
  # A stacktrace names the functions as they are written, and none of Mote's own.
  @moduledoc false
  import Mote.Raised, only: [is_raised: 1]

  alias Mote.Turn.Stage

  @type function_name :: {name :: atom, arity}

  @doc "Raises what the reason stands for that a function of the library has failed with, wherever it did: as its caller."
  @spec told(Mote.Raised.reason(), Exception.stacktrace(), function_name) :: no_return
  def told({:raised, {module, _line, _operation}, _arguments} = reason, stacktrace, function),
    do: failed(reason, Enum.drop_while(stacktrace, &(elem(&1, 0) != module)), function)

  @doc """
  Raises what the reason of an abort stands for. An abort that somebody has written ends a turn that runs, as anywhere else.
  """
  @spec abort(term, function_name) :: no_return
  def abort(reason, function) do
    if not is_raised(reason) and Stage.captured() != nil do
      Stage.abort(reason)
    else
      {:current_stacktrace, stacktrace} = Process.info(self(), :current_stacktrace)
      failed(reason, stacktrace, function)
    end
  end

  @doc "The same, with the stacktrace of what failed, in a function if that is known."
  @spec failed(term, Exception.stacktrace(), function_name | nil) :: no_return
  def failed(reason, stacktrace, function \\ nil)

  def failed({:raised, {module, line, _operation}, _arguments} = reason, stacktrace, function),
    do: reraise(Mote.Raised.exception(reason), frames(stacktrace) |> from_line(module, line, function))

  def failed(reason, stacktrace, _function), do: reraise(Mote.Abort, [reason: reason], frames(stacktrace))

  # Without those of Mote where it failed and where it was called.
  defp frames(stacktrace) do
    for {module, name, arity, place} <- stacktrace,
        not own?(module) and {module, name} != {Process, :info},
        do: {module, written(name), arity, place}
  end

  # A function whose last operation fails has no frame any more.
  defp from_line([{module, _, _, place} | _] = stacktrace, module, line, function) do
    if place[:line] == line, do: stacktrace, else: [frame(module, line, function) | stacktrace]
  end

  defp from_line(stacktrace, module, line, function), do: [frame(module, line, function) | stacktrace]

  defp frame(module, line, function) do
    {name, arity} = function || {:__MODULE__, 0}
    source = if Code.ensure_loaded?(module), do: module.module_info(:compile)[:source]
    file = Path.relative_to_cwd(source || "nofile") |> to_charlist()
    {module, written(name), arity, [file: file, line: line]}
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
      "mote careful " <> name -> String.to_atom(name)
      "mote " <> name -> String.to_atom(name)
      _ -> name
    end
  end
end

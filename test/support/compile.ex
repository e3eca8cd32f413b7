defmodule Mote.Compile do
  @moduledoc """
  Compiles behaviours out of strings, for tests of the compiler: each body into a module of its own.
  """

  import Mote.Raised, only: [is_raised: 1]

  defguardp is_abort(reason) when is_tuple(reason) and tuple_size(reason) == 2 and elem(reason, 0) == :abort

  @doc """
  Compiles `body` inside of a module that uses Mote.Behaviour; gives the module.

  What would be odd in a program by hand is not told of, as in code that a macro has written.
  """
  def module(body, prelude \\ "", errors \\ :undefined) do
    {name, source} = source(body, prelude, errors)

    quietly(source, "test.ex")
    name
  end

  @doc "Compiles source as if a macro had written it: nothing is told that is only told of programs by hand."
  def quietly(source, file) do
    source |> Code.string_to_quoted!(file: file) |> Macro.prewalk(&generated/1) |> Code.compile_quoted(file)
  end

  defp generated({name, meta, nil}), do: generated({name, meta, __MODULE__})
  defp generated({name, meta, rest}), do: {name, [generated: true] ++ meta, rest}
  defp generated(other), do: other

  # The body starts at line 2.
  defp source(body, prelude, errors \\ :undefined) do
    name = Module.concat(Mote.Compiled, "M#{System.unique_integer([:positive])}")

    {name,
     "defmodule #{inspect(name)} do #{prelude}; use Mote.Behaviour, errors: #{inspect(errors)}\n#{body}\nend"}
  end

  @doc "What compiling `body` warns of, each as `line: text`, in order."
  def warnings(body, prelude \\ "") do
    # Others may write at the same time: what is in this file is ours.
    file = "warnings_#{System.unique_integer([:positive])}.ex"

    output =
      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        {name, source} = source(body, prelude)
        Code.compile_string(source, file)
        purge(name)
      end)

    # Later releases draw lines, and show the source where they find it.
    for [_, text, line] <-
          Regex.scan(~r/warning: (?:\e\[0m)?(.+)\n(?:.*│.*\n)* *(?:└─ )?#{file}:(\d+)/u, output),
        do: "#{line}: #{text}"
  end

  @doc "The message of the error of `body`, whose first line is line 2, as `line: text`."
  def error(body, prelude \\ "", errors \\ :undefined) do
    module(body, prelude, errors)
    :compiled
  rescue
    e in [Mote.CompileError, CompileError] -> "#{e.line}: #{e.description}"
  end

  @doc """
  The value of an expression of the language, as a function of Elixir and as IR; both must agree. What it comes to otherwise is
  `{:aborted, reason}` or `{:raised, exception}`.
  """
  def eval(expression, bindings \\ [], errors \\ :undefined) do
    {module, breaches} = evaluating(expression, Keyword.keys(bindings), errors)
    args = Keyword.values(bindings)
    plain = outcome(fn -> apply(module, :value, args) end)
    code = outcome(fn -> Mote.Interpret.call(module, :value, args) end)

    cond do
      breaches != [] -> {:breaches, breaches}
      alike?(plain, code, errors) -> code
      true -> {:differ, plain, code}
    end
  end

  # A failure that nobody has written is an exception in Elixir; in a module with `errors: :undefined` it is the reason of an
  # abort in a machine, or `:undefined` where Elixir's own library raises. The sign of a zero is looked at as well, whether the
  # node tells the two apart or not.
  defp alike?({:raised, _}, {:raised, _}, _), do: true
  defp alike?({:raised, _}, :undefined, :undefined), do: true
  defp alike?({:raised, _}, {:aborted, reason}, _), do: not match?({:abort, _}, reason)
  defp alike?(plain, code, _), do: :erlang.term_to_binary(plain) == :erlang.term_to_binary(code)

  # The module with its breaches: compiled once in a test, whatever is bound.
  defp evaluating(expression, names, errors) do
    key = {__MODULE__, expression, names, errors}

    with nil <- Process.get(key) do
      module = module("defpure value(#{Enum.join(names, ", ")}) do\n#{expression}\nend", "", errors)
      ExUnit.Callbacks.on_exit(fn -> purge(module) end)
      evaluating = {module, Mote.Disassemble.breaches(module)}
      Process.put(key, evaluating)
      evaluating
    end
  end

  @doc "The reason with which a function of a unit aborts."
  def reason(module, name, args) do
    Mote.Interpret.call(module, name, args)
  rescue
    abort in Mote.Abort -> abort.reason
  end

  @doc "The turn of a behaviour, as plain Elixir and as IR; both must agree."
  def turn(behaviour, message, opts \\ []) do
    plain = Mote.Behaviour.turn(behaviour, message, opts)
    code = Mote.Interpret.turn(behaviour, message, opts)
    if comparable(plain) == comparable(code), do: code, else: {:differ, plain, code}
  end

  # Why nobody has written that it fails, the two tell in their own ways.
  defp comparable(%{outcome: {:abort, reason}} = turn) when not is_abort(reason),
    do: %{turn | outcome: :raised}

  defp comparable(turn), do: without_timers(turn)

  # Timer references are never the same.
  defp without_timers(turn) do
    effects =
      Enum.map(turn.effects, fn
        {:send_after, _, ms, target, message} -> {:send_after, ms, target, message}
        {:cancel_timer, _} -> :cancel_timer
        other -> other
      end)

    %{turn | timers: [], cancelled: length(turn.cancelled), effects: effects}
  end

  @doc "Forgets a module. What a process still has of it stays: that process would be killed otherwise."
  def purge(module) do
    # In this order: what is deleted is kept as old code until it is purged.
    :code.delete(module)
    :code.soft_purge(module)
  end

  defp outcome(fun) do
    fun.()
  rescue
    e in Mote.Abort ->
      if is_raised(e.reason), do: {:raised, Mote.Raised.exception(e.reason)}, else: {:aborted, e.reason}

    exception ->
      {:raised, exception}
  end
end

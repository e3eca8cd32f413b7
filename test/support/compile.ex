defmodule Mote.Compile do
  @moduledoc """
  Compiles behaviours out of strings, for tests of the compiler: each body into a module of its own.
  """

  @doc "Compiles `body` inside of a module that uses Mote.Behaviour; gives the module."
  def module(body, prelude \\ "") do
    name = Module.concat(Mote.Compiled, "M#{System.unique_integer([:positive])}")
    # The body starts at line 2.
    source = "defmodule #{inspect(name)} do #{prelude}; use Mote.Behaviour\n#{body}\nend"
    Code.compile_string(source, "test.ex")
    name
  end

  @doc "The message of the CompileError of `body`, whose first line is line 2, as `line: text`."
  def error(body, prelude \\ "") do
    module(body, prelude)
    :compiled
  rescue
    e in CompileError -> "#{e.line}: #{e.description}"
  end

  @doc "The value of an expression of the language, as plain Elixir and as IR; both must agree."
  def eval(expression, bindings \\ []) do
    params = bindings |> Keyword.keys() |> Enum.join(", ")
    module = module("defpure value(#{params}) do\n#{expression}\nend")
    args = Keyword.values(bindings)
    plain = outcome(fn -> apply(module, :value, args) end)
    code = outcome(fn -> Mote.Interpret.call(module, :value, args) end)
    breaches = Mote.Disassemble.breaches(module)
    purge(module)

    cond do
      breaches != [] -> {:breaches, breaches}
      not Mote.Total.same(plain, code) -> {:differ, plain, code}
      true -> plain
    end
  end

  @doc "The turn of a behaviour, as plain Elixir and as IR; both must agree."
  def turn(behaviour, message, opts \\ []) do
    plain = Mote.Behaviour.turn(behaviour, message, opts)
    code = Mote.Interpret.turn(behaviour, message, opts)
    if without_timers(plain) == without_timers(code), do: plain, else: {:differ, plain, code}
  end

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

  @doc "Forgets a module."
  def purge(module) do
    :code.purge(module)
    :code.delete(module)
  end

  defp outcome(fun) do
    fun.()
  rescue
    e in Mote.Abort -> {:aborted, e.reason}
  end
end

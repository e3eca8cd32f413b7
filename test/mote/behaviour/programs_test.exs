defmodule Mote.Behaviour.ProgramsTest do
  # Random programs: the plain Elixir version and the IR must agree about everything that can be seen.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Disassemble, Generators}

  @moduletag timeout: :infinity, capture_log: true

  property "plain Elixir and IR do the same" do
    check all(program <- Generators.program()) do
      Generators.with_module(program, fn module ->
        assert Disassemble.breaches(module) == []
        plain = Generators.run_reference(program, module, [])
        assert plain.finished
        assert plain == Generators.run_reference(program, module, turn: &Mote.Interpret.turn/3)
      end)
    end
  end

  property "the machine does the same" do
    {:ok, machine} = Mote.start_link()

    check all(program <- Generators.program()) do
      Generators.with_module(program, fn module ->
        reference = Generators.run_reference(program, module, [])
        machine = Generators.run_machine(program, module, machine, reference.counters.turns)
        assert machine.outside == reference.outside
        keys = [:turns, :sends, :creates, :becomes, :ignored, :dropped]
        assert Map.take(machine.counters, keys) == Map.take(reference.counters, keys)
        assert aborts(machine.counters) == reference.counters.aborts |> Map.values() |> Enum.sum()
      end)
    end
  end

  defp aborts(counters) do
    Enum.sum(for {key, n} <- counters, String.starts_with?(to_string(key), "aborts"), do: n)
  end
end

defmodule Mote.Behaviour.ProgramsTest do
  # Random programs: the plain Elixir version and the IR must agree about everything that can be seen.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Disassemble, Generators}

  @moduletag timeout: :infinity

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
end

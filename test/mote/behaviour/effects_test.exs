defmodule Mote.Behaviour.EffectsTest do
  # Functions with effects, which clauses and behaviours share.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, module: 1, module: 3, turn: 2]
  import Mote.Hearing

  describe "functions with effects" do
    @till """
    defeffect receipt(customer, sum, log) when sum > 0 do
      send customer, {:paid, sum}
      send log, {:sale, self(), sum}
      sum
    end

    defeffect receipt(customer, _sum, _log) do
      send customer, :nothing
      0
    end

    defeffect countdown(_customer, 0), do: close()
    defeffect countdown(customer, n) do
      send customer, n
      countdown(customer, n - 1)
    end

    defeffect close(), do: become closed()

    defactor till(total, log) do
      {customer, {:card, sum}} -> become total: total + receipt(customer, sum, log)
      {customer, {:cash, sum, given}} ->
        send customer, {:change, given - sum}
        become total: total + receipt(customer, sum, log)
      {customer, {:all, sums}} -> Enum.each(sums, &receipt(customer, &1, log))
      {customer, {:close, n}} -> countdown(customer, n)
      {customer, :total} -> send customer, total
    end

    defactor closed() do
      {customer, :total} ->
        receipt(customer, 0, nil)
        send customer, :closed
    end
    """

    test "are shared by clauses and behaviours, loop and become" do
      module = module(@till)
      me = self()

      assert %{sends: [{:me, {:paid, 3}}, {:log, {:sale, _, 3}}], become: become} =
               turn(module.till(1, :log), {:me, {:card, 3}})

      assert become == module.till(4, :log)
      assert turn(module.till(1, :log), {:me, {:close, 2}}).become == module.closed()

      assert heard(module.till(0, nil), [
               {me, {:card, 5}},
               {me, {:cash, 7, 10}},
               {me, {:card, 0}},
               {me, {:all, [1, 2]}},
               {me, :total},
               {me, {:close, 2}},
               {me, :total}
             ]) == [
               {:paid, 5},
               {:change, 3},
               {:paid, 7},
               :nothing,
               {:paid, 1},
               {:paid, 2},
               12,
               2,
               1,
               :nothing,
               :closed
             ]
    end

    test "say whether a behaviour that calls them is safe" do
      module =
        module("""
        defeffect out(x), do: back(x)
        defeffect back(x), do: if(x > 0, do: out(x - 1), else: close())
        defeffect close(), do: become sink()
        defeffect tell(x), do: send(x, 1)
        defactor a() do
          x -> out(x)
        end
        defactor b() do
          x -> tell(x)
        end
        """)

      assert module.__mote__(:safe) == [b: 0]
      machine = start_supervised!({Mote, id: make_ref()})
      assert Mote.load(machine, module) == :ok
    end

    test "abort with their own line" do
      module =
        module(
          """
          defeffect note(customer, x) do
            send customer, :seen
            send customer,
                 x + 1
          end

          defactor a() do
            {customer, x} -> note(customer, x)
          end
          """,
          "",
          :abort
        )

      assert {:abort, {:raised, {^module, 5, :add}, {:b, 1}}} = turn(module.a(), {:me, :b}).outcome
      assert turn(module.a(), {:me, :b}).sends == []

      other = module("defeffect f(x) when x > 1, do: self()\ndefactor a() do\nx -> f(x)\nend", "", :abort)
      assert {:abort, {:raised, {^other, 2, {:function_clause, :f, 1}}, {{0}}}} = turn(other.a(), 0).outcome
    end

    test "belong to the behaviours of their module" do
      module = module("defeffect note(x), do: send(x, 1)\ndefactor a() do\nx -> note(x)\nend")
      refute function_exported?(module, :note, 1)
      assert module.__mote__(:functions) == []
      note = "note(x), do: send(x, 1)\n"

      assert error("defpure f(x), do: #{inspect(module)}.note(x)") ==
               "2: #{inspect(module)}.note/1 is a defeffect, which only its own module can call"

      assert error("defeffect #{note}defpure f(x) do\nnote(x)\nend") =~
               "4: note/1 is a defeffect, and a defpure has no effects: call it from a defactor"

      assert error("defeffect #{note}defactor a() do\nx when note(x) -> 1\nend") =~
               "4: note/1 cannot be used in a guard"

      assert error("defeffect #{note}defactor a() do\nx -> note(x, 1)\nend") =~ "4: undefined function note/2"
      assert error("defeffect #{note}defactor a() do\nx -> note(x, 1)\nend") =~ "there is note/1"
      assert error("defeffect #{note}defactor a() do\nx -> nete(x)\nend") =~ "Did you mean note/1?"
      assert error("defeffect #{note}defpure #{note}") =~ "3: note/1 is already defined"
      assert error("defeffect note(x)") =~ "2: note/1 needs a do block: a head without one"
      assert error("defeffect 7, do: 1") =~ "2: cannot define 7: write defeffect name(argument) do"
      assert error("defeffect send(x, y), do: {x, y}") =~ "2: send is a word of the language"
      assert error("defeffect f(x), do: y") == "2: undefined variable \"y\""
    end
  end
end

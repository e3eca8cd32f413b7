defmodule Mote.Behaviour.TurnTest do
  # What a turn does: effects, order, transactions, aborts, fuel.
  use ExUnit.Case, async: true

  alias Mote.Reference.{Address, On}
  import Mote.Compile, only: [module: 1, turn: 2, turn: 3]

  setup_all do
    module =
      module("""
      defactor all(a, b) do
        :send -> send a, send(b, 1)
        :sendx -> sendx :io, a, {:to, b}
        :after -> send a, is_reference(send_after(100, b, :ring))
        :never -> send a, send_after(a, b, :ring)
        :regret -> send a, cancel_timer(send_after(100, b, :ring))
        {:cancel, timer} -> send a, cancel_timer(timer)
        :create -> send create(all(1, 2)), create(other(self()))
        :pinned -> create all(1, 2), sponsor: b
        :sink -> send create(sink()), 1
        :become -> send a, become(other(b))
        :twice ->
          become other(1)
          send a, 1
          become other(2)
        :vanish ->
          become other(1)
          become sink()
        :abort ->
          send a, 1
          create other(1)
          become other(1)
          abort {:because, b}
          send a, 2
        :badmatch ->
          send a, 1
          {:ok, _} = b
        :case -> case b do :never -> 1 end
        :cond -> cond do b == :never -> 1 end
        :self -> send self(), self()
        :on -> send on(:io, self()), :hello
        {^a, x} -> send b, x
        {:nested, n} when n > 0 ->
          if n > 10 do
            send a, :big
            become other(n)
          else
            send a, :small
          end
        {:loop, n} -> send a, count(n)
        {:deep, n} -> send a, deep(n)
        _ when b == :any -> send a, :any
      end

      defactor other(x) do
        _ -> send x, :other
      end

      defactor quiet() do
        {:a, _} -> :nothing
        :b -> nil
      end

      defpure count(0), do: :done
      defpure count(n), do: count(n - 1)
      defpure deep(0), do: 0
      defpure deep(n), do: 1 + deep(n - 1)
      """)

    %{m: module}
  end

  test "send gives the message", %{m: m} do
    assert turn(m.all(:a, :b), :send).sends == [{:b, 1}, {:a, 1}]
  end

  test "sendx", %{m: m} do
    turn = turn(m.all(:a, :b), :sendx)
    assert turn.sendx == [{:io, :a, {:to, :b}}]
    assert turn.sends == []
  end

  test "send_after", %{m: m} do
    turn = turn(m.all(:a, :b), :after)
    assert [{ref, 100, :b, :ring}] = turn.timers
    assert is_reference(ref)
    assert turn.sends == [{:a, true}]
  end

  test "send_after without a delay arms nothing", %{m: m} do
    turn = turn(m.all(:a, :b), :never)
    assert {turn.timers, turn.sends} == {[], [{:a, :undefined}]}
  end

  test "cancel_timer", %{m: m} do
    timer = make_ref()
    turn = Mote.Behaviour.turn(m.all(:a, :b), {:cancel, timer})
    assert {turn.cancelled, turn.sends} == {[timer], [{:a, :ok}]}
    turn = Mote.Behaviour.turn(m.all(:a, :b), :regret)
    assert [{timer, 100, :b, :ring}] = turn.timers
    assert turn.cancelled == [timer]
    assert turn(m.all(:a, :b), :regret).sends == [{:a, :ok}]
    turn = Mote.Behaviour.turn(m.all(:a, :b), {:cancel, :nothing})
    assert {turn.cancelled, turn.sends} == {[], [{:a, :undefined}]}
  end

  test "create", %{m: m} do
    turn = turn(m.all(:a, :b), :create)
    me = %Address{id: 0}
    assert turn.creates == [{%Address{id: 1}, m.all(1, 2)}, {%Address{id: 2}, m.other(me)}]
    assert turn.sends == [{%Address{id: 1}, %Address{id: 2}}]

    assert turn(m.all(:a, :b), :create, first: 7).sends == [{%Address{id: 7}, %Address{id: 8}}]
    assert turn(m.all(:a, :b), :pinned).creates == [{%Address{id: 1}, m.all(1, 2), :b}]
    assert [{%Address{id: 1}, :sink}] = turn(m.all(:a, :b), :sink).creates
  end

  test "addresses may come from elsewhere", %{m: m} do
    turn = Mote.Behaviour.turn(m.all(:a, :b), :create, addresses: fn -> :somewhere end)
    assert turn.sends == [{:somewhere, :somewhere}]
  end

  test "of what is no behaviour, or with options that are none, is refused", %{m: m} do
    for other <- [:x, nil, {}, m, %{m.all(:a, :b) | captures: nil}] do
      assert_raise ArgumentError,
                   ~r/^expected a behaviour, the value of a function that defactor defines/,
                   fn ->
                     Mote.Behaviour.turn(other, 1)
                   end
    end

    for {opts, text} <- [
          {[self: 5],
           "expected :self of a turn to be an address, a pid or an atom that stands for one, got: 5"},
          {[self: nil],
           "expected :self of a turn to be an address, a pid or an atom that stands for one, got: nil"},
          {[self: "me"],
           ~s(expected :self of a turn to be an address, a pid or an atom that stands for one, got: "me")},
          {[first: :one], "expected :first of a turn to be an integer, 0 or more, got: :one"},
          {[now: -1], "expected :now of a turn to be a number of nanoseconds, 0 or more, got: -1"},
          {[addresses: [1]], "expected :addresses of a turn to be a function without arguments, got: [1]"},
          {[:now], "expected the options of a turn to be a keyword list, got: [:now]"},
          {:now, "expected the options of a turn to be a keyword list, got: :now"}
        ] do
      assert_raise ArgumentError, text, fn -> Mote.Behaviour.turn(m.all(:a, :b), :self, opts) end
    end

    assert_raise ArgumentError, ~r/unknown keys \[:fuel\]/, fn ->
      Mote.Behaviour.turn(m.all(:a, :b), :self, fuel: 1)
    end

    for me <- [self(), :me, %Address{id: 3}] do
      assert Mote.Behaviour.turn(m.all(:a, :b), :self, self: me, first: 0, now: 0).outcome == :commit
    end
  end

  test "become", %{m: m} do
    turn = turn(m.all(:a, :b), :become)
    assert turn.become == m.other(:b)
    assert turn.sends == [{:a, :ok}]
    assert turn(m.all(:a, :b), :twice).become == m.other(2)
    assert turn(m.all(:a, :b), :vanish).become == :sink
  end

  test "self and on", %{m: m} do
    assert turn(m.all(:a, :b), :self, self: :me).sends == [{:me, :me}]
    me = %Address{id: 0}
    assert turn(m.all(:a, :b), :on).sends == [{%On{sponsor: :io, address: me}, :hello}]
  end

  test "patterns see the captures", %{m: m} do
    assert turn(m.all(:a, :b), {:a, 5}).sends == [{:b, 5}]
    assert turn(m.all(:a, :b), {:c, 5}).outcome == :ignored
    assert turn(m.all(:a, :any), {:c, 5}).sends == [{:a, :any}]
  end

  test "branches", %{m: m} do
    assert %{sends: [{:a, :big}], become: %{captures: {11}}} = turn(m.all(:a, :b), {:nested, 11})
    assert %{sends: [{:a, :small}], become: nil} = turn(m.all(:a, :b), {:nested, 1})
    assert turn(m.all(:a, :b), {:nested, 0}).outcome == :ignored
  end

  test "an abort leaves no footprints", %{m: m} do
    for {message, reason} <- [
          abort: {:abort, {:because, :b}},
          badmatch: {:badmatch, :b},
          case: {:case_clause, :b},
          cond: :cond_clause
        ] do
      turn = turn(m.all(:a, :b), message)
      assert turn.outcome == {:abort, reason}
      assert %{effects: [], sends: [], creates: [], become: nil} = turn
    end
  end

  test "a message without a clause is ignored", %{m: m} do
    assert %{outcome: :ignored, effects: []} = turn(m.quiet(), :c)
    assert %{outcome: :commit, effects: []} = turn(m.quiet(), :b)
    assert %{outcome: :commit, effects: []} = turn(m.quiet(), {:a, 1})
  end

  test "a turn within a turn of another one restores it", %{m: m} do
    inner = fn ->
      Mote.Turn.Stage.send(:x, 1)
      turn = Mote.Behaviour.turn(m.all(:a, :b), :send)
      Mote.Turn.Stage.send(:y, length(turn.sends))
      :commit
    end

    assert Mote.Turn.run(inner).sends == [x: 1, y: 2]
    assert Process.get() |> Keyword.take([:"$mote_context", :"$mote_effects"]) == []
  end

  test "what a module says about itself", %{m: m} do
    assert m.__mote__(:behaviours) == [all: 2, other: 1, quiet: 0]
    assert m.__mote__(:functions) == [count: 1, deep: 1]
    assert m.__mote__(:safe) == [other: 1, quiet: 0]
    assert m.__mote__(:imports) == []
    assert <<"MOTE", 2, _::binary>> = m.__mote__(:unit)
    assert m.__mote__(:hash) in 0..0x7FFFFFFFFFFFFFF
    assert Mote.Disassemble.unit(m.__mote__(:unit)).hash == m.__mote__(:hash)
    assert m.all(1, 2).version == m.__mote__(:hash)
    assert Mote.Disassemble.breaches(m) == []
  end

  test "inspect", %{m: m} do
    assert inspect(m.all(1, 2)) == "#Mote.Behaviour<#{inspect(m)}.all(1, 2)>"
    assert inspect(m.other(1)) == "#Mote.Behaviour<#{inspect(m)}.other(1)>"
    assert inspect(m.quiet()) == "#Mote.Behaviour<#{inspect(m)}.quiet()>"
    assert inspect(%{m.quiet() | captures: nil}) =~ "(?)"
  end
end

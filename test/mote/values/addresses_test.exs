defmodule Mote.Values.AddressesTest do
  # Addresses of all kinds, timers and references: on both tiers of a machine they are to behaviours what they are in plain
  # Elixir.
  use ExUnit.Case, async: true

  alias Mote.{Actors, AnyTerm}

  defmodule Eval do
    use Mote.Behaviour, errors: :undefined

    defactor eval() do
      {customer, {:types, x}} ->
        send customer,
             {is_address(x), is_reference(x), is_pid(x), is_map(x), is_tuple(x), is_binary(x), in_guards(x),
              in_patterns(x), map_size(x), Map.get(x, :machine, :none)}

      {customer, {:order, a, b}} ->
        send customer, {a == b, a === b, a < b, a <= b, max(a, b) === a, [a] < [b], %{k: a} < %{k: b}}

      {customer, {:keys, map}} ->
        send customer, Map.keys(map)

      {customer, {:on, sponsor, x}} ->
        send customer, {on(sponsor, x), on(sponsor, on(:other, x)), is_address(on(sponsor, x))}

      {customer, {:cancel, x}} ->
        send customer, cancel_timer(x)
    end

    defpure in_guards(x) when is_address(x), do: :address
    defpure in_guards(x) when is_reference(x), do: :reference
    defpure in_guards(x) when is_map(x), do: :map
    defpure in_guards(_), do: :other

    defpure in_patterns(%{}), do: :map
    defpure in_patterns(_), do: :other

    # Answers on a sponsor of its choice.
    defactor twice(sponsor) do
      {customer, n} -> send on(sponsor, customer), n * 2
    end

    # Tells a process who has asked.
    defactor tell(pid) do
      {customer, _} -> send pid, {:who, customer}
    end
  end

  for tier <- [:native, :interp] do
    describe "on #{tier}" do
      setup do
        sponsors = [main: [threads: 1], other: [threads: 1]]

        [machine, far] =
          for id <- [:near, :far],
              do: start_supervised!({Mote, id: id, tier: unquote(tier), sponsors: sponsors})

        ask = Mote.async(Mote.create(machine, Eval.tell(self())), :who)
        assert_receive {:who, %Mote.Customer{} = customer}

        [echo, elsewhere] = Enum.map([machine, far], &Mote.create(&1, Actors.echo()))

        %{
          eval: Mote.create(machine, Eval.eval()),
          machine: machine,
          ask: ask,
          echo: echo,
          elsewhere: elsewhere,
          customer: customer,
          outbox: Mote.Outbox.open(machine),
          timer: Mote.send_after(echo, :never, 1_000_000),
          timer_elsewhere: Mote.send_after(elsewhere, :never, 1_000_000)
        }
      end

      test "types", context do
        {low, timers, refs, actors, others, high} = kinds(context)
        far = [context.elsewhere, Mote.on(:other, context.elsewhere)]
        timers = [context.timer_elsewhere | timers]

        for x <- Enum.concat([low, timers, refs, actors, others, far, high, [AnyTerm.external_pid()]]) do
          assert {x, Mote.ask!(context.eval, {:types, x})} === {x, plain({:types, x})}
        end

        address = {true, false, false, false, false, false, :address, :other, :undefined, :undefined}
        reference = {false, true, false, false, false, false, :reference, :other, :undefined, :undefined}

        for x <- actors ++ far ++ [context.customer, context.outbox],
            do: assert(plain({:types, x}) == address)

        for x <- timers ++ [make_ref()], do: assert(plain({:types, x}) == reference)
      end

      test "order", context do
        {low, timers, refs, actors, others, high} = kinds(context)
        ascending = Enum.concat([low, timers, refs, actors, others, high])

        for {a, i} <- Enum.with_index(ascending), {b, j} <- Enum.with_index(ascending) do
          plain = plain({:order, a, b})
          assert {a, b, plain} == {a, b, {i == j, i == j, i < j, i <= j, i >= j, i < j, i < j}}
          assert {a, b, Mote.ask!(context.eval, {:order, a, b})} == {a, b, plain}
        end

        # Where what is of other machines is among that of this one is each machine's own business.
        for {far, timers} <- [
              {context.elsewhere, timers},
              {Mote.on(:other, context.elsewhere), timers},
              {context.timer_elsewhere, []}
            ],
            other <- Enum.concat([low, timers, refs, others, high]),
            pair <- [{far, other}, {other, far}, {far, far}] do
          question = {:order, elem(pair, 0), elem(pair, 1)}
          assert {pair, Mote.ask!(context.eval, question)} == {pair, plain(question)}
        end

        map = Map.new(Enum.shuffle(ascending), &{&1, 1})
        assert Mote.ask!(context.eval, {:keys, map}) == ascending
        assert plain({:keys, map}) == ascending
      end

      test "timers of one thread, the older one first", context do
        timers = for ms <- [900_000, 300_000, 600_000], do: Mote.send_after(context.echo, :never, ms)
        map = Map.new(Enum.reverse(timers), &{&1, 1})
        assert Mote.ask!(context.eval, {:keys, map}) == timers
        assert plain({:keys, map}) == timers
      end

      test "on: what has no sponsor to choose stays as it is", context do
        as_it_is = [context.customer, context.outbox, self(), AnyTerm.external_pid()]
        actors = [context.echo, context.elsewhere]
        none = [1, nil, {context.echo}, %{}, make_ref(), context.timer, context.timer_elsewhere, "address"]

        for x <- as_it_is ++ actors ++ Enum.map(actors, &Mote.on(:other, &1)) ++ none,
            sponsor <- [:main, 1] do
          question = {:on, sponsor, x}
          assert {question, Mote.ask!(context.eval, question)} === {question, plain(question)}
        end

        for x <- as_it_is, do: assert(plain({:on, :main, x}) === {x, x, true})
        for x <- none, do: assert(plain({:on, :main, x}) === {:undefined, :undefined, false})

        for x <- actors do
          on = Mote.on(:main, x)
          assert plain({:on, :main, x}) === {on, on, true}
          assert plain({:on, :main, Mote.on(:other, x)}) === {on, on, true}
        end
      end

      test "on: whoever asks gets the answer", %{machine: machine, outbox: outbox, elsewhere: elsewhere} do
        twice = Mote.create(machine, Eval.twice(:other))
        assert Mote.ask(twice, 21) == {:ok, 42}
        Mote.send(twice, {self(), 4})
        assert_receive 8
        Mote.send(twice, {outbox, 5})
        assert Mote.drain(machine, 60_000) == :ok
        assert Mote.Outbox.take(outbox) == [10]
        Mote.send(twice, {elsewhere, 6})
        assert Mote.drain(machine, 60_000) == :ok
        assert %{dropped: 0, undelivered: 0} = Mote.info(machine).counters

        # The sponsor goes with the address of another machine.
        on = Mote.ask!(Mote.create(machine, Actors.maker()), {:on, :other, elsewhere})
        assert on === Mote.on(:other, elsewhere)
        assert Mote.ask!(on, :there) == :there
      end

      test "only references are timers", context do
        {low, timers, refs, actors, others, high} = kinds(context)
        timers = [context.timer_elsewhere | timers]

        for x <- Enum.concat([low, timers, refs, actors, others, [context.elsewhere], high]) do
          answer = if x in timers or is_reference(x), do: :ok, else: :undefined
          assert {x, Mote.ask!(context.eval, {:cancel, x})} == {x, answer}
          assert {x, plain({:cancel, x})} == {x, answer}
        end
      end
    end
  end

  # One of each kind, in their order.
  defp kinds(context) do
    timers = [context.timer]
    actors = [context.echo, Mote.on(:other, context.echo)]
    others = [context.customer, context.outbox, self()]
    {[1, :atom], timers, [make_ref(), fn -> 1 end], actors, others, [{1}, %{}, [], "a"]}
  end

  # The answer in plain Elixir.
  defp plain(question) do
    assert %{outcome: :commit, sends: [{_, answer}]} = Mote.Interpret.turn(Eval.eval(), {self(), question})
    answer
  end
end

defmodule Mote.Behaviour.TryEffectsTest do
  # What a part of a turn that fails has staged is undone; what a machine decides is caught by nobody.
  use ExUnit.Case, async: true

  @moduletag capture_log: true

  defmodule Staging do
    use Mote.Behaviour

    defactor staging(n \\ 0) do
      {customer, :n} ->
        send customer, n

      {customer, {:send, fail}} ->
        send customer, :before

        try do
          send customer, :within
          send_after 0, customer, :timer
          sendx :main, customer, :sendx
          if fail, do: raise("failed")
          send customer, :whole
        rescue
          e -> send customer, {:rescued, e.message}
        after
          send customer, :after
        end

        send customer, :end

      {customer, {:become, fail}} ->
        become n: n + 1

        try do
          become n: n + 10
          div(1, fail)
        rescue
          ArithmeticError -> send customer, :kept
        end

      {customer, {:handler, fail}} ->
        try do
          become n: n + 10
          div(1, fail)
        rescue
          ArithmeticError ->
            become n: n + 100
            send customer, :handled
        end

      {customer, {:again, fail}} ->
        try do
          become closed(customer)
          again()
          div(1, fail)
        rescue
          _ -> send customer, :not_again
        end

      {customer, {:nested, fail}} ->
        try do
          send customer, 1

          try do
            send customer, 2
            div(1, fail)
          rescue
            KeyError -> send customer, 3
          after
            send customer, 4
          end
        rescue
          ArithmeticError -> send customer, 5
        end

      {customer, :many} ->
        try do
          for n <- 1..5000, do: send(customer, n)
          told(customer, 3)
        rescue
          _ -> send customer, :none
        end

        send customer, :end

      {customer, {:create, fail}} ->
        try do
          a = create staging(7)
          if fail, do: throw(a)
          send a, {customer, :n}
        catch
          a -> send a, {customer, :n}
        end

      {customer, {:abort, reason}} ->
        try do
          abort(reason)
        rescue
          _ -> send customer, :caught
        catch
          _, _ -> send customer, :caught
        end

      {customer, {:spin, n}} ->
        try do
          send customer, spin(n)
        rescue
          _ -> send customer, :caught
        catch
          _, _ -> send customer, :caught
        end

      {customer, {:dig, n}} ->
        try do
          send customer, dig(n)
        catch
          _, _ -> send customer, :caught
        end

      {customer, {:pile, n}} ->
        try do
          send customer, length(pile(n, []))
        catch
          _, _ -> send customer, :caught
        end

      {customer, {:levels, n}} ->
        send customer, levels(n)
    end

    defactor closed(told) do
      {_customer, message} -> send told, {:closed, message}
    end

    defeffect told(customer, n) do
      send customer, n
      div(1, n - 3)
    end

    defpure spin(n), do: spin(n + 1)
    defpure dig(n), do: 1 + dig(n + 1)
    defpure pile(0, all), do: all
    defpure pile(n, all), do: pile(n - 1, [Tuple.duplicate(n, 100) | all])

    # Each level protects the next one, and the last fails.
    defpure levels(0), do: raise("the bottom")

    defpure levels(n) do
      levels(n - 1) + 1
    catch
      :error, _ when rem(n, 1000) == 0 -> n
    end
  end

  for tier <- [:interp, :native, :beam] do
    describe "in #{tier}" do
      setup do
        tier = unquote(tier)
        beam = if tier == :beam, do: [sponsors: [io: [beam: true]]], else: []

        machine =
          start_supervised!(
            {Mote,
             [fuel: 100_000, memory: 64_000_000] ++ [tier: if(tier == :beam, do: :interp, else: tier)] ++ beam}
          )

        {:ok, _} = Mote.Generators.load(machine, Staging)

        create = fn ->
          Mote.create(machine, Staging.staging(), if(tier == :beam, do: [sponsor: :io], else: []))
        end

        %{machine: machine, create: create, actor: create.()}
      end

      test "sends and timers are undone", %{machine: machine, actor: actor} do
        told(actor, {:send, true}, machine, [:before, {:rescued, "failed"}, :after, :end])
        told(actor, {:send, false}, machine, [:before, :within, :whole, :after, :end, :sendx, :timer])
      end

      test "so are those of more than a chunk, and none before them", %{machine: machine, actor: actor} do
        told(actor, :many, machine, [:none, :end])
      end

      test "so is a become, and not the one before", %{machine: machine, actor: actor} do
        told(actor, {:become, 0}, machine, [:kept])
        assert Mote.ask!(actor, :n) == 1
        told(actor, {:become, 1}, machine, [])
        assert Mote.ask!(actor, :n) == 11
        told(actor, {:handler, 0}, machine, [:handled])
        assert Mote.ask!(actor, :n) == 111
      end

      test "so is what is given back", %{machine: machine, actor: actor} do
        told(actor, {:again, 0}, machine, [:not_again])
        assert Mote.ask!(actor, :n) == 0
        told(actor, {:again, 1}, machine, [{:closed, {:again, 1}}])
      end

      test "an inner part is undone with the outer one", %{machine: machine, actor: actor} do
        told(actor, {:nested, 1}, machine, [1, 2, 4])
        told(actor, {:nested, 0}, machine, [5])
      end

      test "an actor that is thrown lives", %{machine: machine, actor: actor} do
        told(actor, {:create, false}, machine, [7])
        told(actor, {:create, true}, machine, [7])
      end

      test "an abort is caught by nobody", %{actor: actor} do
        assert {:error, %{context: %{reason: {:abort, :x}}}} = Mote.ask(actor, {:abort, :x})
      end
    end
  end

  for tier <- [:interp, :native] do
    test "the end of fuel, stack and memory is caught by nobody (#{tier})" do
      machine = start_supervised!({Mote, fuel: 20_000_000, memory: 32_000_000, tier: unquote(tier)})
      {:ok, _} = Mote.Generators.load(machine, Staging)
      actor = Mote.create(machine, Staging.staging())

      for {request, reason} <- [{{:spin, 0}, :fuel}, {{:dig, 0}, :stack}, {{:pile, 500_000}, :no_memory}] do
        assert {:error, %{context: %{reason: ^reason}}} = Mote.ask(actor, request)
      end

      # The machine goes on, with whole turns.
      assert Mote.ask!(actor, {:levels, 5_500}) == 5_500
      assert Mote.ask!(actor, :n) == 0
    end
  end

  test "a timer that was undone takes no number from those that follow" do
    machine = start_supervised!({Mote, tier: :interp})
    actor = Mote.create(machine, Staging.staging())
    for _ <- 1..3, do: told(actor, {:send, true}, machine, [:before, {:rescued, "failed"}, :after, :end])
    told(actor, {:send, false}, machine, [:before, :within, :whole, :after, :end, :sendx, :timer])
  end

  # What an actor sends to whoever asked. Timers and messages by other ways may come between others.
  defp told(actor, request, machine, expected) do
    Mote.send(actor, {self(), request})
    :ok = Mote.drain(machine)
    seen = for _ <- expected, do: receive(do: (message -> message), after: (5_000 -> :none))
    assert Enum.sort(seen) == Enum.sort(expected)
    apart = &Enum.reject(&1, fn message -> message in [:sendx, :timer] end)
    assert apart.(seen) == apart.(expected)
    refute_received _
  end
end

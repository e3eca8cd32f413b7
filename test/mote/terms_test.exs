defmodule Mote.TermsTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Actors, AnyTerm, Native}
  alias Mote.Machine.Long

  setup_all do
    machine = start_supervised!({Mote, id: :one})
    other = start_supervised!({Mote, id: :other})
    %{machine: machine, other: other, echo: Mote.create(machine, Actors.echo())}
  end

  # An assertion on huge terms would try to show them.
  defp same?(a, b), do: a === b

  defp addresses(%{machine: machine, other: other, echo: echo}) do
    far = Mote.create(other, Actors.echo())
    [echo, Mote.create(machine, Actors.maker()), %{echo | sponsor: :main}, far, %{far | sponsor: :main}]
  end

  describe "every term comes back the same" do
    property "through a message", context do
      check all term <- AnyTerm.term(addresses(context)) do
        assert Mote.ask!(context.echo, term) === term
      end
    end

    property "through a capture", context do
      check all term <- AnyTerm.term(addresses(context)), max_runs: 50 do
        keeper = Mote.create(context.machine, Actors.keeper(term))
        assert Mote.ask!(keeper, :get) === term
        assert Mote.info(keeper).behaviour === Actors.keeper(term)
      end
    end

    property "through two machines", context do
      check all term <- AnyTerm.term(addresses(context)), max_runs: 50 do
        far = Mote.create(context.other, Actors.echo())
        near = Mote.create(context.machine, Actors.forward(far))
        assert Mote.ask!(near, term) === term
      end
    end

    property "to a process", context do
      me = self()
      forward = Mote.create(context.machine, Actors.forward(me))

      check all term <- AnyTerm.term(addresses(context)), max_runs: 50 do
        Mote.send(forward, {:got, term})
        assert_receive {:got, got}
        assert got === term
      end
    end

    test "however deep", %{echo: echo} do
      for wrap <- [&{&1}, &[&1], &[1 | &1], &{1, [&1, 2]}, &[[] | &1], &%{a: &1}] do
        deep = Enum.reduce(1..1_000_000, :bottom, fn _, inner -> wrap.(inner) end)
        assert same?(Mote.ask!(echo, deep, 30_000), deep)
      end
    end

    test "however long", %{echo: echo} do
      list = Enum.to_list(1..1_000_000)
      tuple = List.to_tuple(list)
      map = Map.new(1..100_000, &{&1, {&1}})
      binary = :binary.copy("0123456789", 1_000_000)
      <<_, odd::bitstring-size(799_991), _::bitstring>> = binary

      for term <- [list, tuple, map, binary, odd, [map | tuple], 3 ** 1_000_000] do
        assert same?(Mote.ask!(echo, term, 30_000), term)
      end
    end

    test "around the sizes where binaries are carried in another way", %{echo: echo} do
      for size <- [0, 1, 7, 8, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, 100_000] do
        binary = :crypto.strong_rand_bytes(size)
        assert Mote.ask!(echo, {binary, [binary]}) === {binary, [binary]}
      end
    end
  end

  test "an address inside of a term that the machine cannot look into keeps its actor", context do
    %{machine: machine, echo: echo} = context
    keeper = Mote.create(machine, Actors.keeper(nil))

    # The only reference to each counter goes into a map, a function, or a struct in a map.
    for wrap <- [&%{address: &1}, fn a -> fn -> a end end, &%{deep: [%{1 => {&1}}]}] do
      task =
        Task.async(fn ->
          Mote.ask!(keeper, {:swap, wrap.(Mote.create(machine, Actors.counter(7)))})
          :ok
        end)

      :ok = Task.await(task, 60_000)
      :erlang.garbage_collect()
      Mote.ask!(echo, :still_there)

      address =
        case Mote.ask!(keeper, :get) do
          %{address: address} -> address
          fun when is_function(fun) -> fun.()
          %{deep: [%{1 => {address}}]} -> address
        end

      assert Mote.ask!(address, :read) == 7
    end
  end

  test "addresses are equal when their actors are", %{machine: machine, echo: echo} do
    maker = Mote.create(machine, Actors.maker())
    again = Mote.ask!(maker, :self)
    assert again === maker
    assert %{again => 1} === %{maker => 1}
    assert again != echo
    assert Mote.ask!(maker, :make) != Mote.ask!(maker, :make)

    on = Mote.ask!(maker, {:on, :main, echo})
    assert %Mote.Address{sponsor: :main} = on
    assert %{on | sponsor: nil} === echo
    assert Mote.ask!(on, :hello) == :hello
  end

  test "what the machine cannot look into compares as in Elixir", %{machine: machine} do
    big = 3 ** 90
    ref = make_ref()
    fun = fn -> ref end

    terms = [
      1,
      1.0,
      2,
      -1,
      big,
      big + 1,
      -big,
      big * 1.0,
      1.0e300,
      ref,
      make_ref(),
      fun,
      self(),
      :c.pid(0, 1, 0),
      AnyTerm.external_pid(),
      hd(Port.list()),
      %{},
      %{a: 1},
      %{a: 1.0},
      %{a: 2},
      %{b: 1},
      %{a: 1, b: 2},
      <<1::3>>,
      <<1>>,
      "a",
      {},
      {1},
      [],
      [1],
      :a
    ]

    for left <- terms do
      actor = Mote.create(machine, Actors.comparing(left))

      for right <- terms do
        {same, _equal, less, more, _address} = Mote.ask!(actor, right)
        assert {left, right, same} === {left, right, left === right}
        assert {left, right, less, more} === {left, right, left < right, left > right}
      end
    end
  end

  test "addresses of another machine compare by what they say", %{machine: machine, other: other, echo: echo} do
    far = Mote.create(other, Actors.echo())

    same? = fn left, right ->
      machine |> Mote.create(Actors.comparing(left)) |> Mote.ask!(right) |> elem(0)
    end

    assert same?.(far, far)
    refute same?.(far, Mote.create(other, Actors.echo()))
    refute same?.(far, %{far | sponsor: :main})
    refute same?.(far, echo)
    assert same?.(%{echo | sponsor: :main}, %{echo | sponsor: :main})
  end

  test "is_address is true for what takes messages", %{machine: machine, other: other, echo: echo} do
    actor = Mote.create(machine, Actors.comparing(nil))
    address? = fn term -> actor |> Mote.ask!(term) |> elem(4) end

    addresses = [
      echo,
      self(),
      AnyTerm.external_pid(),
      Mote.create(other, Actors.echo()),
      %{echo | sponsor: :main}
    ]

    assert Enum.all?(addresses, address?)
    refute Enum.any?([1, make_ref(), %{}, "", nil], address?)
  end

  defmodule Constant do
    use Mote.Behaviour, errors: :undefined

    defactor told() do
      {customer, message} ->
        send customer, other()
        send other(), message
    end

    defpure other(), do: 0x1000_0000_0000_0000_0000
  end

  test "an integer that is too large to calculate with is carried", %{echo: echo} do
    for beyond <- [2 ** 1_048_576, -(2 ** 1_048_576), 2 ** 1_100_000] do
      assert Mote.ask!(echo, {beyond, [beyond - 1]}) == {beyond, [beyond - 1]}
    end
  end

  test "a pid in the code is an address as any other", %{machine: machine, echo: echo} do
    opaque = fn class, term ->
      external = :erlang.term_to_binary(term)
      <<7, class, byte_size(external), external::binary>>
    end

    integer = <<9, 0, 10, :binary.encode_unsigned(0x1000_0000_0000_0000_0000, :little)::binary>>

    # The compiler writes none; others may.
    unit = String.replace(Constant.__mote__(:unit), integer, opaque.(4, self()))

    assert unit != Constant.__mote__(:unit)
    assert Native.machine_load(echo.machine, {Constant, Constant.__mote__(:hash)}, unit, true) == :ok
    told = Mote.create(machine, Constant.told())
    assert Mote.ask!(told, :from_the_code) == self()
    assert_receive :from_the_code
  end

  describe "time on a normal scheduler" do
    # The fastest of several calls: whatever else this computer does only makes calls slower.
    defp fastest(fun) do
      Enum.min(for _ <- 1..15, do: fun |> :timer.tc() |> elem(0))
    end

    test "big terms are refused at once, for a dirty scheduler to take", %{echo: echo} do
      list = Enum.to_list(1..1_000_000)
      captured = list

      big = [
        list,
        List.to_tuple(list),
        Enum.reduce(1..1_000_000, [], fn _, inner -> {inner} end),
        Map.new(1..100_000, &{&1, &1}),
        %{a: %{b: list}},
        fn -> captured end,
        Enum.map(1..10_000, fn _ -> make_ref() end),
        Enum.map(1..10_000, &(&1 * 3 ** 90)),
        List.duplicate(2 ** 2_000_000, 100),
        List.duplicate(echo, 10_000),
        List.duplicate(:binary.copy("x", 4096), 1_000)
      ]

      for {term, n} <- Enum.with_index(big) do
        send = fn -> Native.send(echo.machine, echo.key, nil, term) end
        # What a function keeps is for the process to find out first.
        assert {n, send.()} == {n, if(is_function(term), do: :long, else: :big)}
        assert {n, fastest(send)} < {n, 1_000}
      end
    end

    test "what long binaries keep is asked for at once", %{echo: echo} do
      for term <- [:binary.copy("x", 50_000_000), List.duplicate(:binary.copy("x", 5_000), 1_000)] do
        send = fn -> Native.send(echo.machine, echo.key, nil, term) end
        assert send.() == :long
        assert fastest(send) < 1_000
      end
    end

    test "terms that are just small enough take less than a millisecond", %{echo: echo} do
      small = [
        Enum.to_list(1..1_900),
        List.to_tuple(Enum.to_list(1..1_900)),
        Enum.reduce(1..1_900, [], fn _, inner -> {inner} end),
        Map.new(1..900, &{&1, &1}),
        Enum.map(1..150, fn _ -> make_ref() end),
        Enum.map(1..150, &(&1 * 3 ** 90)),
        Enum.map(1..1_900, fn _ -> self() end),
        List.duplicate(echo, 150),
        List.duplicate(:binary.copy("x", 4096), 40),
        :binary.copy("x", 50_000_000)
      ]

      for {term, n} <- Enum.with_index(small) do
        kept = Long.kept(term)
        send = fn -> Native.send(echo.machine, echo.key, nil, term, kept) end
        assert {n, send.()} == {n, :ok}
        assert {n, fastest(send)} < {n, 1_000}
      end
    end
  end
end

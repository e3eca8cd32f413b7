defmodule Mote.BadInputTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.{Actors, Behaviour, Customer, Error, Native}

  setup_all do
    machine = start_supervised!(Mote)
    %{machine: machine, echo: Mote.create(machine, Actors.echo())}
  end

  describe "start_link names the option" do
    for {opts, text} <- [
          {[sponsor: :main], "unknown option :sponsor; the options of a machine are :name, :sponsors, :fuel"},
          {[name: "text"], "expected :name to be an atom"},
          {[name: {:via, 1, 2}], "expected :name to be an atom"},
          {[name: :undefined], "expected :name to be an atom (other than :undefined)"},
          {[fuel: 0], "expected :fuel to be a positive integer"},
          {[fuel: 1.0], "expected :fuel to be a positive integer"},
          {[fuel: 2 ** 64], "expected :fuel to be a positive integer"},
          {[sponsors: []], "expected :sponsors to be a keyword list of names and options"},
          {[sponsors: :main], "expected :sponsors to be a keyword list"},
          {[sponsors: [nil: []]], "expected the name of a sponsor to be an atom, such as :main, got: nil"},
          {[sponsors: [1, 2]], "expected :sponsors to be a keyword list"},
          {[sponsors: [main: 1]], "expected the options of sponsor :main to be a keyword list, got: 1"},
          {[sponsors: [main: [thread: 1]]],
           "unknown option :thread of sponsor :main; there are :threads, :partition, :pin, :inbox, :on_full and :io; " <>
             "beam: true has others"},
          {[sponsors: [main: [threads: 0]]], ":cores or an integer from 1 to 1024, got: 0"},
          {[sponsors: [main: [threads: 1025]]], ":cores or an integer from 1 to 1024, got: 1025"},
          {[sponsors: [main: [], io: [threads: :many]]], "expected :threads of sponsor :io to be :cores or"},
          {[sponsors: [main: [pin: :all]]],
           "expected :pin of sponsor :main to be true, false or a list of cores"},
          {[sponsors: [main: [pin: []]]],
           "expected :pin of sponsor :main to be true, false or a list of cores"},
          {[sponsors: [main: [pin: [0 | 1]]]], "expected :pin of sponsor :main to be true, false or a list"},
          {[sponsors: [main: [pin: [0, 99_999]]]], "to list cores that this node may use"},
          {[sponsors: [main: [pin: [:a]]]], "got: [:a]"},
          {[sponsors: [a: [], b: [], a: []]], "expected sponsors of different names, got :a twice"},
          {:name, "expected a keyword list of options, got: :name"},
          {[1], "expected a keyword list of options, got: [1]"}
        ] do
      test inspect(opts) do
        message = assert_raise(ArgumentError, fn -> Mote.start_link(unquote(Macro.escape(opts))) end).message
        assert message =~ unquote(text)
      end
    end
  end

  describe "sponsors" do
    test "with what is no name or no option", %{machine: machine} do
      for name <- [nil, true, "multi", 1] do
        message = ~r/expected the name of a sponsor to be an atom, such as :main, got: #{inspect(name)}/
        assert_raise ArgumentError, message, fn -> Mote.add_sponsor(machine, name) end
        assert_raise ArgumentError, message, fn -> Mote.remove_sponsor(machine, name) end
        assert_raise ArgumentError, message, fn -> Mote.on(name, self()) end
      end

      assert_raise ArgumentError, ~r/unknown option :thread of sponsor :multi/, fn ->
        Mote.add_sponsor(machine, :multi, thread: 1)
      end

      assert_raise ArgumentError,
                   ~r/expected an address, a customer, an outbox or a pid to refer to, got: :echo/,
                   fn ->
                     Mote.on(:main, :echo)
                   end
    end

    test "of what is no machine" do
      for call <- [&Mote.add_sponsor(&1, :a), &Mote.remove_sponsor(&1, :a), &Mote.drain/1] do
        assert {:error, %Error{reason: :machine_down}} = call.(self())

        for wrong <- ["machine", {Nobody, nil}] do
          assert_raise ArgumentError, ~r/expected a machine/, fn -> call.(wrong) end
        end
      end

      # The node of a program that is not distributed, for instance.
      nobody = {Nobody, nil}
      assert_raise ArgumentError, ~r/expected a machine/, fn -> Mote.info(nobody) end

      assert_raise ArgumentError, ~r/expected a machine/, fn -> Mote.stop("machine") end

      assert_raise Error, ~r/is not a running machine/, fn -> Mote.sponsors(self()) end
    end

    test "with a bad timeout", %{machine: machine} do
      assert_raise ArgumentError, ~r/expected a timeout/, fn -> Mote.drain(machine, -1) end
    end
  end

  test "an address where a machine is meant is told how to name it", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())

    for call <- [&Mote.drain/1, &Mote.top/1, &Mote.stop/1, &Mote.create(&1, Actors.echo())] do
      assert_raise ArgumentError,
                   ~r/or what Mote.machine\/1 gives, also for an address; got: #Mote.Address</,
                   fn ->
                     call.(echo)
                   end
    end

    assert Mote.drain(Mote.machine(echo)) == :ok
  end

  describe "create" do
    test "with what is no machine" do
      for machine <- [nil, 1, "name", {:via, 1, 2}, make_ref()] do
        assert_raise ArgumentError, ~r/expected a machine: its pid or its name/, fn ->
          Mote.create(machine, Actors.echo())
        end
      end

      assert_raise Error, ~r/no machine of the name :nobody/, fn -> Mote.create(:nobody, Actors.echo()) end
      assert_raise Error, ~r/is not a running machine/, fn -> Mote.create(self(), Actors.echo()) end
    end

    test "with what is no behaviour", %{machine: machine} do
      for other <- [nil, Actors, :echo, %{}, {Actors, :echo}, fn -> :ok end, %{Actors.echo() | captures: [1]}] do
        assert_raise ArgumentError,
                     ~r/expected a behaviour, the value of a function that defactor defines/,
                     fn ->
                       Mote.create(machine, other)
                     end
      end
    end

    test "with a behaviour that was made by hand", %{machine: machine} do
      for behaviour <- [
            %{Actors.echo() | version: -1},
            %{Actors.echo() | version: 2 ** 64},
            %{Actors.echo() | version: nil},
            %{Actors.echo() | module: "Mote.Actors"},
            %{Actors.echo() | name: 1}
          ] do
        assert_raise ArgumentError, ~r/was not made by its module/, fn -> Mote.create(machine, behaviour) end
      end
    end

    test "with code that is not there", %{machine: machine} do
      cases = [
        {%Behaviour{module: Mote.NoSuchModule, name: :a, version: 1}, :undefined_behaviour, "no such module"},
        {%Behaviour{module: Enum, name: :a, version: 1}, :undefined_behaviour,
         "does not say use Mote.Behaviour"},
        {%{Actors.echo() | name: :nothing}, :undefined_behaviour, "no behaviour nothing with 0 captures"},
        {%{Actors.echo() | captures: {1, 2}}, :undefined_behaviour, "no behaviour echo with 2 captures"},
        {%{Actors.echo() | version: 1}, :stale_behaviour, "make it again with Mote.Actors.echo"}
      ]

      for {behaviour, reason, text} <- cases do
        error = assert_raise Error, fn -> Mote.create(machine, behaviour) end
        assert error.reason == reason
        assert Exception.message(error) =~ text
      end
    end

    test "with bad options", %{machine: machine} do
      for opts <- [[sponsors: :main], :main, [sponsor: :a, sponsor: :b]] do
        assert_raise ArgumentError, ~r/expected the options of create\/3 to be \[sponsor: name\]/, fn ->
          Mote.create(machine, Actors.echo(), opts)
        end
      end

      assert_raise ArgumentError, ~r/expected :sponsor of create\/3 to be .*, got: "main"/, fn ->
        Mote.create(machine, Actors.echo(), sponsor: "main")
      end

      error = assert_raise Error, fn -> Mote.create(machine, Actors.echo(), sponsor: :multi) end
      assert {error.reason, error.message =~ "no sponsor :multi, only :main:"} == {:unknown_sponsor, true}
    end

    test "with a module that the machine refuses", %{machine: machine} do
      Code.compile_string("""
      defmodule Mote.BadInputTest.Broken do
        def b, do: %Mote.Behaviour{module: __MODULE__, name: :b, version: 1}
        def __mote__(:hash), do: 1
        def __mote__(:unit), do: "MOTE" <> <<2>> <> "garbage"
        def __mote__(:imports), do: []
        def __mote__(:behaviours), do: [b: 0]
      end
      """)

      broken = Mote.BadInputTest.Broken
      error = assert_raise Error, fn -> Mote.create(machine, broken.b()) end
      assert {error.reason, error.message =~ "refused the code of Mote.BadInputTest.Broken"} == {:load, true}
      assert {:error, %Error{reason: :load}} = Mote.load(machine, broken)
      assert_raise ArgumentError, ~r/expected a module/, fn -> Mote.load(machine, "Broken") end
      assert {:error, %Error{reason: :undefined_behaviour}} = Mote.load(machine, Mote.NoSuchModule)
    end

    test "with a module that goes in this moment", %{machine: machine} do
      # As if it had been purged between two questions.
      Code.compile_string("""
      defmodule Mote.BadInputTest.Going do
        def b, do: %Mote.Behaviour{module: __MODULE__, name: :b, version: 1}
        def __mote__(_key), do: apply(__MODULE__, :gone, [])
      end
      """)

      going = Mote.BadInputTest.Going
      assert {:error, %Error{reason: :undefined_behaviour}} = Mote.load(machine, going)
      error = assert_raise Error, fn -> Mote.create(machine, going.b()) end
      assert error.reason == :undefined_behaviour
    end
  end

  describe "send and ask" do
    test "to what is no address", %{echo: echo} do
      for target <- [nil, 1, :name, make_ref(), {self(), 1}, echo.key, %{}] do
        assert_raise ArgumentError, ~r/expected an address, a customer or a pid to send to/, fn ->
          Mote.send(target, :hello)
        end

        assert_raise ArgumentError, ~r/expected the address of an actor to ask/, fn ->
          Mote.ask(target, :hello)
        end
      end

      assert_raise ArgumentError, ~r/expected the address of an actor to ask/, fn ->
        Mote.ask!(self(), :hello)
      end
    end

    test "to addresses that nobody handed out", %{echo: echo} do
      <<slot::32, serial::128, padding::binary>> = echo.key

      forged = [
        %{echo | key: <<slot::32, Bitwise.bxor(serial, 1)::128, padding::binary>>},
        %{echo | key: <<slot + 256::32, serial::128, padding::binary>>},
        %{echo | key: <<0xFFFFFFFF::32, serial::128, padding::binary>>},
        %{echo | key: <<slot::32, 0::128, padding::binary>>},
        %{echo | key: <<slot::32, serial::128>>},
        %{echo | key: ""},
        %{echo | key: nil},
        %{echo | key: <<1::3>>},
        %{echo | machine: make_ref()},
        %{echo | machine: self()},
        %{echo | machine: nil}
      ]

      for address <- forged do
        error = assert_raise Error, fn -> Mote.send(address, :hello) end
        assert error.reason == :unknown_address
        assert {:error, %Error{reason: :unknown_address}} = Mote.ask(address, :hello)
        assert_raise Error, fn -> Mote.ask!(address, :hello) end
        assert_raise Error, fn -> Mote.info(address) end
        assert is_binary(inspect(address))
        # In a message it is a map like any other.
        assert Mote.ask!(echo, address) === address
      end

      refute_receive _, 10
    end

    test "to an address that was let go", %{machine: machine} do
      # The copy of a key does not hold its actor.
      copy =
        fn ->
          address = Mote.create(machine, Actors.echo())
          %{address | key: :binary.copy(address.key)}
        end
        |> Task.async()
        |> Task.await(60_000)

      eventually(fn -> match?({:error, %Error{reason: :unknown_address}}, Mote.ask(copy, 1)) end)
      assert_raise Error, ~r/as long as its term is kept whole/, fn -> Mote.send(copy, 1) end
    end

    test "to customers that this node did not hand out" do
      for ref <- [make_ref(), nil, self()] do
        customer = %Customer{ref: ref}
        error = assert_raise ArgumentError, fn -> Mote.send(customer, 1) end

        assert error.message =~
                 "#{inspect(customer)} is not a customer: one is made by Mote.ask/3 or a future"
      end
    end

    test "with bad options and timeouts", %{echo: echo} do
      for opts <- [[sponsors: :main], nil, %{}] do
        assert_raise ArgumentError, ~r/expected the options of send\/3/, fn -> Mote.send(echo, 1, opts) end
        assert_raise ArgumentError, ~r/expected the options of send\/3/, fn -> Mote.send(self(), 1, opts) end
      end

      for {call, function} <- [
            {&Mote.send(echo, 1, &1), "send/3"},
            {&Mote.send_many(echo, [1], &1), "send_many/3"},
            {&Mote.send_many([{echo, 1}], &1), "send_many/2"},
            {&Mote.cast_stream(echo, [1], &1), "cast_stream/3"}
          ] do
        error = assert_raise ArgumentError, fn -> call.(sponsor: 1) end

        assert error.message ==
                 "expected :sponsor of #{function} to be the name of a sponsor, an atom, got: 1"

        assert_raise ArgumentError, ~r"expected the options of #{function} to be", fn -> call.(other: 1) end
        assert_raise ArgumentError, ~r"expected :on_full of #{function} to be", fn -> call.(on_full: 1) end
        assert_raise Error, ~r/has no sponsor :nobody, only :main:/, fn -> call.(sponsor: :nobody) end
      end

      for timeout <- [-1, 1.0, nil, :never, 2 ** 32] do
        assert_raise ArgumentError, ~r/expected a timeout in milliseconds/, fn ->
          Mote.ask(echo, 1, timeout)
        end
      end

      for address <- [%{echo | sponsor: :multi}, %{echo | sponsor: "main"}] do
        assert {:error, %Error{reason: :unknown_sponsor}} = Mote.ask(address, 1)
        assert_raise Error, ~r/has no sponsor/, fn -> Mote.send(address, 1) end
      end

      assert_raise Error, ~r/no sponsor :multi/, fn -> Mote.send(echo, 1, sponsor: :multi) end
    end
  end

  test "to a machine that has ended" do
    {:ok, machine} = Mote.start_link()
    echo = Mote.create(machine, Actors.echo())
    :ok = Mote.stop(machine)

    for fun <- [
          fn -> Mote.send(echo, 1) end,
          fn -> Mote.ask!(echo, 1) end,
          fn -> Mote.info(echo) end,
          fn -> Mote.info(machine) end,
          fn -> Mote.create(machine, Actors.echo()) end
        ] do
      assert assert_raise(Error, fun).reason == :machine_down
    end

    assert {:error, %Error{reason: :machine_down}} = Mote.ask(echo, 1)
    assert {:error, %Error{reason: :machine_down}} = Mote.load(machine, Actors)
    assert inspect(echo) =~ "#Mote.Address<"
    refute_receive _, 10
  end

  test "in a NIF raises ArgumentError and does no harm", %{echo: echo} do
    for call <- [
          fn -> Native.machine_start(1, [], 1, 1, {1, 1.0, false}, {:system, nil, :native}) end,
          fn -> Native.machine_start("a", [1], 1, 1, {1, 1.0, false}, {:system, nil, :native}) end,
          fn -> Native.machine_stop(make_ref()) end,
          fn -> Native.machine_join(nil) end,
          fn -> Native.machine_info(echo) end,
          fn -> Native.machine_load(echo.machine, {Actors, 1}, :unit, true) end,
          fn -> Native.machine_load(echo.machine, {"no atom", 1}, "no unit", true) end,
          fn -> Native.machine_module(echo.machine, "no atom") end,
          fn -> Native.create(nil, Actors, :echo, 1, {}, nil) end,
          fn -> Native.create(echo.machine, 1, "2", 1, {}, nil) end,
          fn -> Native.machine_now(make_ref()) end,
          fn -> Native.machine_advance(echo.machine, -1, false) end,
          fn -> Native.send_after(echo.machine, echo.key, nil, 1, -1) end,
          fn -> Native.cancel(make_ref()) end
        ] do
      assert_raise ArgumentError, call
    end

    assert Native.machine_owner(1) == :unknown
    assert Native.cancel_timer(echo.machine, "key") == :unknown
    assert Native.cancel_timer(1, <<0::112>>) == :unknown
    assert Native.cancel_timer(echo.machine, <<-1::112>>) == false
    assert Native.create(echo.machine, Actors, :echo, 1, :no_tuple, []) == :load
    assert Native.send(echo.machine, echo.key, "main", 1) == :no_sponsor
    assert {:error, _} = Native.machine_load(echo.machine, {Actors, 1}, "no unit", true)
  end
end

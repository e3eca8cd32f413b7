defmodule Mote.InspectTest do
  use ExUnit.Case, async: true

  alias Mote.{Actors, Address, Error, Machine, Sponsor}

  setup do
    name = :"inspect_#{System.unique_integer([:positive])}"
    %{name: name, pid: start_supervised!({Mote, name: name, sponsors: [main: [], multi: [threads: 2]]})}
  end

  test "machines", %{name: name, pid: pid} do
    echo = Mote.create(pid, Actors.echo())
    machine = Mote.machine(name)
    assert %Machine{pid: ^pid, name: ^name} = machine
    for by <- [pid, machine, echo], do: assert(Mote.machine(by) == machine)
    about = "#{inspect(name)}, #{inspect(pid)}"
    assert inspect(machine) == "#Mote.Machine<#{about}, sponsors :main and :multi>"
    :ok = Mote.add_sponsor(machine, :third)
    assert inspect(machine) == "#Mote.Machine<#{about}, sponsors :main, :multi and :third>"
    :ok = stop_supervised(name)
    assert inspect(machine) == "#Mote.Machine<#{about}, down>"
    assert catch_error(Mote.machine(name)).reason == :machine_down
    assert catch_error(Mote.machine(%Address{machine: 1, key: ""})).reason == :unknown_address
  end

  test "machines without a name" do
    {:ok, pid} = Mote.start_link()
    assert inspect(Mote.machine(pid)) == "#Mote.Machine<#{inspect(pid)}, sponsor :main>"
    :ok = Mote.stop(pid)
  end

  test "a machine's value is a machine wherever one is expected", %{pid: pid} do
    machine = Mote.machine(pid)
    assert Mote.ask!(Mote.create(machine, Actors.echo()), 1) == 1
    assert Mote.sponsors(machine) == [:main, :multi]
    assert Mote.drain(machine) == :ok
    assert Mote.info(machine).counters.turns == 1
    ref = Mote.monitor(machine)
    assert Mote.stop(machine, :shutdown) == :ok
    assert_receive {:DOWN, ^ref, :process, ^pid, :shutdown}
    assert {:error, %Error{reason: :machine_down}} = Mote.drain(machine)
  end

  test "sponsors", %{name: name, pid: pid} do
    sponsor = Mote.sponsor(pid, :multi)
    assert %Sponsor{name: :multi, machine: %Machine{name: ^name}} = sponsor

    assert inspect(sponsor) =~
             ~r"^#Mote.Sponsor<:multi of #{inspect(name)}, 2 threads, [012] asleep, 0 queued>$"

    assert inspect(Mote.sponsor(pid, :main)) =~ ", 1 thread, "
    :ok = Mote.remove_sponsor(pid, :multi)
    assert inspect(sponsor) == "#Mote.Sponsor<:multi of #{inspect(name)}, removed>"
    assert catch_error(Mote.sponsor(pid, :multi)).reason == :unknown_sponsor
    :ok = stop_supervised(name)
    assert inspect(sponsor) == "#Mote.Sponsor<:multi of #{inspect(name)}, down>"
  end

  test "addresses", %{name: name, pid: pid} do
    echo = Mote.create(pid, Actors.echo())
    assert inspect(echo) =~ ~r"^#Mote.Address<\w+ in #{inspect(name)}>$"
    assert inspect(Mote.on(:multi, echo)) =~ ~r"^#Mote.Address<\w+ on :multi in #{inspect(name)}>$"
    :ok = stop_supervised(name)
    assert inspect(echo) =~ ~r"^#Mote.Address<\w+, down>$"
    elsewhere = :erlang.binary_to_term(:erlang.term_to_binary(echo))
    assert inspect(elsewhere) =~ ~r"^#Mote.Address<\w+>$" or inspect(elsewhere) =~ "down"
  end

  test "questions and behaviours", %{name: name, pid: pid} do
    ask = Mote.async(Mote.create(pid, Actors.echo()), 1)
    assert inspect(ask) =~ ~r"^#Mote.Ask<#Reference<[0-9.]+> to #Mote.Address<\w+ in #{inspect(name)}>>$"
    assert inspect(Actors.pair(1, 2)) == "#Mote.Behaviour<Mote.Actors.pair(1, 2)>"
  end

  test "what was made up is shown all the same" do
    for made_up <- [
          %Machine{pid: :no_pid, name: nil},
          %Machine{pid: self(), name: "me"},
          %Sponsor{machine: %Machine{pid: 1, name: nil}, name: :main},
          %Sponsor{machine: 1, name: :main},
          %Address{machine: 1, key: nil, sponsor: 1}
        ] do
      assert inspect(made_up) =~ ~r"^#Mote\.(Machine|Sponsor|Address)<.*>$"
    end
  end
end

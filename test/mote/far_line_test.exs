defmodule Mote.FarLineTest do
  # The protocol between nodes, without processes, one side at a time. test/mote/far_world_test.exs has many nodes use it.
  use ExUnit.Case, async: true

  alias Mote.Far.{Intake, Line}
  alias Mote.FarRig

  # Bytes of an entry: a third of a parcel.
  @large 22 * 1024

  # An address of a node that is not there.
  defp address(n), do: FarRig.address_of("elsewhere", n)

  defp put(line, entries, bytes, references \\ []),
    do: Enum.reduce(entries, line, &Line.put(&2, &1, bytes, references, nil))

  test "entries leave in order, in parcels of some 64 KB" do
    line = put(%Line{}, 1..7, @large)
    {{1, ask?, [], entries}, bytes, line} = Line.parcel(line, :there)
    assert {entries, ask?, bytes} == {[1, 2, 3], true, 3 * @large}
    {{2, _, [], [4, 5, 6]}, _, line} = Line.parcel(line, :there)
    {{3, false, [], [7]}, _, line} = Line.parcel(line, :there)
    refute Line.ready?(line)
    assert {{4, true, [], []}, 0, _} = Line.parcel(line, :there, true)
  end

  test "while enough is on its way nothing leaves; what was taken makes room" do
    line = drain(put(%Line{}, 1..100, @large))
    refute Line.ready?(line)
    waiting = length(Line.waiting(line))
    assert waiting > 70
    refute line |> Line.taken(0) |> Line.ready?()
    assert line |> Line.taken(1) |> Line.ready?()
    line = Line.taken(line, line.parcel - 1)
    refute Line.on_way?(line)
    assert line |> drain() |> Line.waiting() |> length() < waiting
  end

  defp drain(line),
    do: if(Line.ready?(line), do: line |> Line.parcel(:there) |> elem(2) |> drain(), else: line)

  test "a reference is announced once in a parcel, and in each by a number of its own" do
    [one, two] = [address(1), address(2)]
    line = put(%Line{}, [:a, :b], 10, [one, two, %{one | sponsor: :other}])
    {{1, _, announced, _}, _, line} = Line.parcel(line, :there)
    assert Enum.sort(for {_, address} <- announced, do: address.key) == [one.key, two.key]
    {{2, _, [{again, ^one}], _}, _, _} = line |> put([:c], 10, [one]) |> Line.parcel(:there)
    assert again not in for({number, _} <- announced, do: number)
  end

  test "what goes home has no number, and is kept until it was taken in" do
    {{1, _, [{0, address}], _}, _, line} = %Line{} |> put([:a], 10, [address(1)]) |> Line.parcel(:elsewhere)
    assert [{1, 10, 0, [^address, nil]}] = :queue.to_list(line.on_way)
  end

  test "parcels are taken in once, and in order" do
    assert {:ok, intake} = Intake.take(%Intake{}, 1)
    assert Intake.take(intake, 1) == :repeated
    assert Intake.take(intake, 3) == :gap
    assert {:ok, _} = Intake.take(intake, 2)
  end
end

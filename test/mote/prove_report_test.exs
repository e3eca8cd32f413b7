defmodule Mote.ProveReportTest do
  # What a failure of `Mote.Test.prove/3` says: whose message was lost, came twice or was aborted, and in which turn it went wrong.
  use ExUnit.Case, async: true

  @moduletag :capture_log

  alias Mote.Test.Failure

  defmodule Actors do
    use Mote.Behaviour

    defactor adds(to) do
      n when is_integer(n) -> send to, {:add, n}
    end

    defactor sum(n) do
      {customer, :sum} -> send customer, n
      {:add, more} -> become sum(n + more)
    end

    defactor strict(n) do
      0 -> abort {:no, n}
      more -> become strict(n + more)
    end

    # Arms a timer again for each message.
    defactor late(timer, log) do
      :go ->
        if timer != nil, do: cancel_timer(timer)
        become late(send_after(10, log, {:add, 1}), log)
    end
  end

  # Two actors that send to a third one.
  defp graph(machine) do
    sum = Mote.create(machine, Actors.sum(0))
    for n <- [3, 4], do: machine |> Mote.create(Actors.adds(sum)) |> Mote.send(n)
    sum
  end

  defp failed(sum?, option) do
    {:failed, failure} =
      Mote.Test.prove(&graph/1, &sum?.(Mote.ask!(&1, :sum)), [{option, fn sum -> [sum] end}])

    {failure, Exception.message(failure)}
  end

  test "a message that was lost, by the actor that it was for" do
    {%{turns: turns, fates: fates} = failure, text} = failed(&(&1 in [3, 7, 0]), :loses)
    assert [{_, :lost, lost}] = fates
    assert lost.message == {:add, 3}
    assert lost.behaviour.name == :sum
    # As this machine calls it: it has had the other message.
    assert [had] = for(%{behaviour: %{name: :sum}} = turn <- turns, do: turn)
    assert lost.actor == had.actor
    assert text =~ ~r/    -  lost: #{Regex.escape(inspect(lost.actor))} main .*\.sum\(\d\) <- {:add, 3}\n/
    assert Failure.to_mermaid(failure) =~ ~r/a\d-xa\d: {:add, 3}/
  end

  test "all that was lost, behind the last turn as well" do
    {%{fates: fates}, text} = failed(&(&1 != 0), :loses)
    assert Enum.sort(for {_, :lost, %{message: message}} <- fates, do: message) == [add: 3, add: 4]
    assert length(String.split(text, "-  lost: ")) == 3
  end

  test "a message that comes twice" do
    {%{turns: turns, fates: fates}, text} = failed(&(&1 != 10), :doubles)
    assert [{number, :twice, nil}] = fates
    assert %{message: {:add, 3}} = Enum.find(turns, &(&1.number == number))
    assert text =~ ~r/<- {:add, 3}\n[^-]*       this message comes once more\n/
  end

  test "a turn that is aborted as an option says" do
    {%{turns: turns, fates: fates}, text} = failed(&(&1 in [4, 7, 0]), :aborts)
    assert [{number, :aborted, nil}] = fates
    assert %{message: {:add, 4}, outcome: {:abort, _}} = Enum.find(turns, &(&1.number == number))
    assert text =~ ~r/<- {:add, 4}: aborted.*\n       aborted as :aborts says, whatever it does(\n|\z)/
  end

  test "who has aborted, and why" do
    graph = fn machine ->
      strict = Mote.create(machine, Actors.strict(0))
      for n <- [0, 5], do: Mote.send(strict, n)
    end

    assert {:failed, %{kind: :aborted, why: why}} =
             Mote.Test.prove(fn machine -> graph.(machine) end, fn _ -> true end)

    assert why ==
             "a turn is aborted, in turn 1: main Mote.ProveReportTest.Actors.strict(0) <- 0: aborted, {:abort, {:no, 0}}"
  end

  test "when a timer fires" do
    graph = fn machine ->
      sum = Mote.create(machine, Actors.sum(0))
      late = Mote.create(machine, Actors.late(nil, sum))
      for _ <- 1..2, do: Mote.send(late, :go)
      sum
    end

    assert {:failed, %{fates: [{3, :fires, nil}], turns: [_, _, _]} = failure} =
             Mote.Test.prove(graph, &(Mote.ask!(&1, :sum) == 2))

    assert Exception.message(failure) =~ "\n    -  a timer fires\n    3  "
  end
end

defmodule Mote.BeamSponsorReasonsTest do
  # What whoever asked, and the log, hear of a beam turn that fails: of a long reason the beginning, and always the lines of the
  # stacktrace.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog

  alias Mote.Error

  defmodule Work do
    use Mote.Behaviour

    defactor work(), beam: true do
      {customer, {:match, value}} ->
        {:ok, found} = value
        send customer, found

      {customer, {:task, fun}} ->
        send customer, Task.await(Task.async(fn -> fun.() end))

      {customer, {:elsewhere, word}} ->
        use_word = fn ->
          case word do
            :send -> send customer, :lost
            :self -> self()
            :create -> create work()
            :become -> become work()
          end
        end

        send customer, Task.await(Task.async(fn -> Work.failure(use_word) end))
    end

    def failure(fun) do
      fun.()
    rescue
      error -> Exception.message(error)
    end
  end

  setup do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true]])
    %{machine: machine, actor: Mote.create(machine, Work.work(), sponsor: :io)}
  end

  test "however long the reason is, it is written down and has its lines", %{machine: machine, actor: actor} do
    log =
      capture_log(fn ->
        for parts <- 0..220 do
          value = {:error, Map.new(1..parts//1, &{&1, &1})}
          assert {:error, %Error{reason: :aborted} = error} = Mote.ask(actor, {:match, value}, 30_000)
          assert {:crashed, :error, %MatchError{}, [line | _] = lines} = error.context.reason
          assert line =~ "beam_sponsor_reasons_test.exs:" and Enum.all?(lines, &is_binary/1)
          assert Exception.message(error) =~ line
        end

        assert :ok = Mote.drain(machine, 30_000)
      end)

    assert log =~ "MatchError"
  end

  test "of an exit that has another process's stacktrace only a part comes", %{actor: actor} do
    capture_log(fn ->
      for depth <- [1, 3, 10, 40, 100] do
        agent = fn ->
          {:ok, agent} = Agent.start(fn -> Map.new(1..depth, &{&1, "#{&1}"}) end)
          Agent.get(agent, fn map -> Map.fetch!(map, :none) end)
        end

        assert {:error, %Error{reason: :aborted} = error} = Mote.ask(actor, {:task, agent}, 30_000)
        assert {:crashed, :exit, _, []} = error.context.reason
        assert Exception.message(error) =~ "aborted the turn"
      end
    end)
  end

  test "words of a behaviour say that no turn runs in a task", %{actor: actor} do
    for word <- [:send, :self, :create, :become] do
      assert Mote.ask!(actor, {:elsewhere, word}, 30_000) =~ "no turn runs in this process"
    end
  end
end

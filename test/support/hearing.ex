defmodule Mote.Hearing do
  @moduledoc "A behaviour run by the simulator, and in a machine by interpreter and by native code."

  import ExUnit.Assertions

  @doc "What customers outside hear when each message has been dealt with: the same from all that run code."
  def heard(behaviour, messages) do
    me = self()
    ref = Mote.Reference.new()
    {actor, ref} = Mote.Reference.create(ref, behaviour)

    ref =
      Enum.reduce(messages, ref, fn message, ref ->
        ref |> Mote.Reference.send(actor, message) |> Mote.Reference.run()
      end)

    simulated = for {^me, message} <- Mote.Reference.outside(ref), do: message

    for tier <- [:interp, :native] do
      machine = ExUnit.Callbacks.start_supervised!({Mote, tier: tier, id: make_ref()})
      if tier == :native, do: {:ok, _} = Mote.Generators.load(machine, behaviour.module)
      actor = Mote.create(machine, behaviour)

      for message <- messages do
        Mote.send(actor, message)
        assert Mote.drain(machine, 60_000) == :ok
      end

      assert {tier, Mote.Mailbox.messages()} == {tier, simulated}
    end

    simulated
  end
end

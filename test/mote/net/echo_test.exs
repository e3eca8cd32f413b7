defmodule Mote.Net.EchoTest do
  use ExUnit.Case, async: true

  import Mote.NetRig, only: [client: 1, listen: 2, machine: 1]

  for threads <- [1, 2] do
    test "a server of actors echoes to clients, with #{threads} threads" do
      machine = machine(unquote(threads))
      {_, port} = listen(machine, Mote.NetRig.echo())
      clients = for n <- 1..20, do: {n, client(port)}

      for round <- 1..5, {n, client} <- clients do
        text = "#{n} in round #{round}"
        :ok = :gen_tcp.send(client, text)
        assert {:ok, ^text} = :gen_tcp.recv(client, byte_size(text), 5_000)
      end
    end
  end
end

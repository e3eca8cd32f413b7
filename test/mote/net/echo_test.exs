defmodule Mote.Net.EchoTest do
  use ExUnit.Case, async: true

  defmodule Echo do
    use Mote.Behaviour

    defactor start() do
      {:connected, socket} ->
        send socket, {self(), {:read, :some}}
        become echo(socket)
    end

    defactor echo(socket) do
      {:ok, data} ->
        send socket, {nil, {:write, data}}
        send socket, {self(), {:read, :some}}

      {:error, _reason} ->
        become sink()
    end
  end

  defp machine(threads) do
    start_supervised!({Mote, sponsors: [main: [threads: 1], net: [threads: threads, io: true]]})
  end

  defp port(listener) do
    {:ok, %{local: {{127, 0, 0, 1}, port}}} = Mote.Net.info(listener)
    port
  end

  for threads <- [1, 2] do
    test "a server of actors echoes to clients, with #{threads} threads" do
      machine = machine(unquote(threads))
      {:ok, listener} = Mote.Net.listen(machine, accept: Echo.start())
      port = port(listener)

      clients =
        for n <- 1..20 do
          {:ok, client} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])
          {n, client}
        end

      for round <- 1..5, {n, client} <- clients do
        text = "#{n} in round #{round}"
        :ok = :gen_tcp.send(client, text)
        assert {:ok, ^text} = :gen_tcp.recv(client, byte_size(text), 5_000)
      end
    end
  end
end

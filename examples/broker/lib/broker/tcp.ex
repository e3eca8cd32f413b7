defmodule Broker.Tcp do
  # Stands in for `Mote.Net`: the same requests, answered by two processes for each connection.
  @moduledoc false

  @spec listen(pid, keyword) :: {:ok, pid} | {:error, :inet.posix()}
  def listen(machine, opts) do
    options = [
      :binary,
      active: false,
      packet: :raw,
      nodelay: true,
      reuseaddr: true,
      ip: opts[:ip],
      backlog: 1_024
    ]

    with {:ok, listening} <- :gen_tcp.listen(opts[:port], options) do
      listener = spawn_link(fn -> accept(machine, listening, opts[:accept], opts[:sponsor]) end)
      :ok = :gen_tcp.controlling_process(listening, listener)
      {:ok, {listener, listening}}
    end
  end

  @spec info({pid, port}) :: %{local: {:inet.ip_address(), :inet.port_number()}}
  def info({_, listening}) do
    {:ok, local} = :inet.sockname(listening)
    %{local: local}
  end

  defp accept(machine, listening, behaviour, sponsor) do
    case :gen_tcp.accept(listening) do
      {:ok, socket} ->
        writer = spawn(fn -> begin(socket) end)
        :ok = :gen_tcp.controlling_process(socket, writer)
        send(writer, :begin)
        Mote.send(Mote.create(machine, behaviour, sponsor: sponsor), {:connected, writer})
        accept(machine, listening, behaviour, sponsor)

      {:error, :closed} ->
        :ok
    end
  end

  defp begin(socket) do
    receive do: (:begin -> :ok)
    write(socket, spawn_link(fn -> read(socket) end))
  end

  defp write(socket, reader) do
    receive do
      {customer, {:write, bytes}} -> answer(customer, :gen_tcp.send(socket, bytes))
      {customer, {:shutdown, how}} -> answer(customer, :gen_tcp.shutdown(socket, how))
      {customer, :close} -> answer(customer, :gen_tcp.close(socket))
      read -> send(reader, read)
    end

    write(socket, reader)
  end

  defp read(socket) do
    receive do
      {customer, {:read, what}} -> answer(customer, :gen_tcp.recv(socket, size(what)))
      {customer, {:read, what, timeout}} -> answer(customer, :gen_tcp.recv(socket, size(what), timeout))
    end

    read(socket)
  end

  defp size(:some), do: 0
  defp size(n), do: n

  defp answer(nil, _), do: :ok
  defp answer(customer, answer), do: Mote.send(customer, answer)
end

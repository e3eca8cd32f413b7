# Starts a broker, until it is stopped by hand: mix run run.exs [port [threads]]
{port, threads} =
  case Enum.map(System.argv(), &String.to_integer/1) do
    [] -> {1883, 1}
    [port] -> {port, 1}
    [port, threads] -> {port, threads}
  end

case Broker.start_link(port: port, threads: threads) do
  {:ok, broker} ->
    IO.puts("MQTT on 127.0.0.1, port #{Broker.port(broker)}, process #{System.pid()}")
    Process.sleep(:infinity)

  {:error, reason} ->
    IO.puts("No broker on port #{port}: #{inspect(reason)}")
    System.halt(1)
end

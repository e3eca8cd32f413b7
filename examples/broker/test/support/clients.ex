defmodule Broker.Clients do
  @moduledoc """
  Clients that others have written: `mosquitto_pub` and `mosquitto_sub` of Debian, and `paho-mqtt` of PyPI. They are installed
  where they are missing, if that is possible.
  """

  # Milliseconds for a line of a client that is known to come, on a computer that is busy.
  @patience 60_000

  @doc "The clients that cannot be had, with the reason."
  @spec missing() :: [{:mosquitto | :paho, String.t()}]
  def missing, do: for({client, {:error, why}} <- [mosquitto: mosquitto(), paho: paho()], do: {client, why})

  defp mosquitto do
    found? = fn -> Enum.all?(~w(mosquitto_pub mosquitto_sub), &System.find_executable/1) end
    unless found?.(), do: run("apt-get", ~w(install -y -q mosquitto-clients))

    if found?.(),
      do: :ok,
      else: {:error, "mosquitto_pub and mosquitto_sub: apt-get install mosquitto-clients"}
  end

  defp paho do
    works? = fn -> match?({_, 0}, run(python(), ["-c", "import paho.mqtt.client"])) end

    unless works?.() do
      run("python3", ["-m", "venv", venv()])
      run(python(), ~w(-m pip install -q paho-mqtt))
    end

    if works?.(),
      do: :ok,
      else: {:error, "paho-mqtt: python3 -m venv #{venv()}, and pip install paho-mqtt there"}
  end

  @doc "The Python that has paho-mqtt."
  @spec python() :: Path.t()
  def python, do: Path.join(venv(), "bin/python")

  defp venv, do: Path.join(Mix.Project.build_path(), "paho")

  defp run(command, args) do
    case System.find_executable(command) do
      nil -> :error
      path -> System.cmd(path, args, stderr_to_stdout: true)
    end
  end

  @doc "Starts a subscriber, and returns when the broker has answered."
  @spec subscriber(:inet.port_number(), [String.t()]) :: port
  def subscriber(port, args) do
    client = start_subscriber(port, args)
    line(client, "Subscribed")
    client
  end

  @doc "Starts a subscriber, whose messages may be there before the answer to its subscription."
  @spec start_subscriber(:inet.port_number(), [String.t()]) :: port
  def start_subscriber(port, args),
    do: start("mosquitto_sub", port, ["-d", "-F", "message %t %q %r %p" | args])

  @doc "Runs a publisher to its end, and returns its exit status."
  @spec publish(:inet.port_number(), [String.t()]) :: non_neg_integer
  def publish(port, args) do
    client = start("mosquitto_pub", port, args)
    elem(rest(client, []), 1)
  end

  defp start(name, port, args) do
    # A line at a time, although nobody looks at a screen.
    args = ["-oL", name, "-p", "#{port}" | args]
    options = [:binary, :exit_status, :stderr_to_stdout, line: 10_000, args: args]
    Port.open({:spawn_executable, System.find_executable("stdbuf")}, options)
  end

  @doc "Waits for a line that begins so."
  @spec line(port, String.t()) :: String.t()
  def line(client, start) do
    receive do
      {^client, {:data, {:eol, line}}} ->
        if String.starts_with?(line, start), do: line, else: line(client, start)

      {^client, {:exit_status, status}} ->
        raise "ended with #{status} before a line #{inspect(start)}"
    after
      @patience -> raise "no line #{inspect(start)}"
    end
  end

  @doc "The next messages that a subscriber shows: topic, QoS, whether it is retained, payload."
  @spec messages(port, pos_integer) :: [String.t()]
  def messages(client, n),
    do: for(_ <- 1..n, do: client |> line("message ") |> String.replace_prefix("message ", ""))

  @doc "The lines until a client ends, and its exit status."
  @spec rest(port, [String.t()]) :: {[String.t()], non_neg_integer}
  def rest(client, lines \\ []) do
    receive do
      {^client, {:data, {:eol, line}}} -> rest(client, [line | lines])
      {^client, {:exit_status, status}} -> {Enum.reverse(lines), status}
    after
      @patience -> raise "does not end"
    end
  end

  @doc "Ends a client by a signal, and waits until it has ended."
  @spec signal(port, String.t()) :: non_neg_integer
  def signal(client, signal) do
    {:os_pid, pid} = Port.info(client, :os_pid)
    {_, 0} = System.cmd("kill", ["-#{signal}", "#{pid}"])
    elem(rest(client), 1)
  end
end

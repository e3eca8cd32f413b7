defmodule Mote.Peek do
  @moduledoc """
  HTTP as a test of a server needs it: requests that a client would not send, and answers as they are.
  """

  @patience 20_000

  @doc "Status, headers and body of a GET of an address."
  @spec get(String.t()) :: {pos_integer, map, binary}
  def get(url), do: send_it(url, "GET", "")

  @doc "Of a POST."
  @spec post(String.t()) :: {pos_integer, map, binary}
  def post(url), do: send_it(url, "POST", "content-length: 0\r\n")

  @doc "The JSON of an answer that is as it should be, as terms."
  @spec json(String.t()) :: term
  def json(url) do
    {200, %{"content-type" => "application/json"}, body} = get(url)
    Mote.Peek.JSON.decode!(body)
  end

  @doc "Of a request to a path below an address, with lines of headers."
  @spec request(String.t(), String.t(), String.t(), String.t()) :: {pos_integer, map, binary}
  def request(url, method, path, headers \\ ""), do: send_it(url <> path, method, headers)

  defp send_it(url, method, headers) do
    %{path: path, query: query} = URI.parse(url)
    target = if query, do: path <> "?" <> query, else: path
    raw(url, "#{method} #{target} HTTP/1.1\r\nhost: localhost\r\n#{headers}connection: close\r\n\r\n")
  end

  @doc "Of whatever is sent to the server of an address."
  @spec raw(String.t(), iodata) :: {pos_integer, map, binary}
  def raw(url, request) do
    socket = connect(url)
    :ok = :gen_tcp.send(socket, request)
    answer = answer(socket)
    :gen_tcp.close(socket)
    answer
  end

  @doc "A connection to the server of an address."
  @spec connect(String.t()) :: :gen_tcp.socket()
  def connect(url) do
    %{host: host, port: port} = URI.parse(url)
    {:ok, socket} = :gen_tcp.connect(String.to_charlist(host), port, [:binary, active: false])
    socket
  end

  @doc "The next answer on a connection."
  @spec answer(:gen_tcp.socket()) :: {pos_integer, map, binary}
  def answer(socket) do
    :ok = :inet.setopts(socket, packet: :http_bin)
    {:ok, {:http_response, _, status, _}} = :gen_tcp.recv(socket, 0, @patience)
    headers = headers(socket, %{})
    :ok = :inet.setopts(socket, packet: :raw)

    case String.to_integer(headers["content-length"]) do
      0 ->
        {status, headers, ""}

      length ->
        {:ok, body} = :gen_tcp.recv(socket, length, @patience)
        {status, headers, body}
    end
  end

  defp headers(socket, headers) do
    case :gen_tcp.recv(socket, 0, @patience) do
      {:ok, {:http_header, _, name, _, value}} ->
        headers(socket, Map.put(headers, String.downcase(to_string(name)), value))

      {:ok, :http_eoh} ->
        headers
    end
  end
end

defmodule Mote.Peek.JSON do
  @moduledoc "Reads JSON, to check what is written; raises where it is none."

  @spec decode!(binary) :: term
  def decode!(text) do
    {term, rest} = text |> skip() |> value()
    "" = skip(rest)
    term
  end

  defp value("{" <> rest), do: members(skip(rest), [])
  defp value("[" <> rest), do: elements(skip(rest), [])
  defp value("\"" <> rest), do: string(rest, "")
  defp value("true" <> rest), do: {true, rest}
  defp value("false" <> rest), do: {false, rest}
  defp value("null" <> rest), do: {nil, rest}

  defp value(text) do
    [number] = Regex.run(~r/\A-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/, text)
    rest = binary_part(text, byte_size(number), byte_size(text) - byte_size(number))
    # What JSON calls a number may be without a point, or have an exponent without one.
    {if(number =~ ~r/[.eE]/, do: elem(Float.parse(number), 0), else: String.to_integer(number)), rest}
  end

  defp members("}" <> rest, []), do: {%{}, rest}

  defp members("\"" <> rest, found) do
    {key, rest} = string(rest, "")
    ":" <> rest = skip(rest)
    {value, rest} = rest |> skip() |> value()

    case skip(rest) do
      "," <> rest -> members(skip(rest), [{key, value} | found])
      "}" <> rest -> {Map.new([{key, value} | found]), rest}
    end
  end

  defp elements("]" <> rest, []), do: {[], rest}

  defp elements(text, found) do
    {value, rest} = value(text)

    case skip(rest) do
      "," <> rest -> elements(skip(rest), [value | found])
      "]" <> rest -> {Enum.reverse([value | found]), rest}
    end
  end

  defp string("\"" <> rest, read), do: {read, rest}

  defp string("\\u" <> <<hex::binary-size(4), rest::binary>>, read),
    do: string(rest, read <> <<String.to_integer(hex, 16)::utf8>>)

  defp string("\\n" <> rest, read), do: string(rest, read <> "\n")

  defp string("\\" <> <<char, rest::binary>>, read) when char in [?", ?\\, ?/],
    do: string(rest, <<read::binary, char>>)

  defp string(<<char::utf8, rest::binary>>, read) when char >= 0x20,
    do: string(rest, <<read::binary, char::utf8>>)

  defp skip(<<space, rest::binary>>) when space in [?\s, ?\n, ?\t, ?\r], do: skip(rest)
  defp skip(text), do: text
end

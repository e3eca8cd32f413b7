defmodule Mote.Net.Tls do
  # The option `:tls` of Mote.Net: files are read here, and what is in them is looked at by rustls.
  @moduledoc false

  @server [:certfile, :keyfile, :hosts, :cacertfile, :alpn]
  @client [:server_name, :cacertfile, :certfile, :keyfile, :alpn]

  @typep identity :: {binary, binary}

  @doc "Parses the TLS options of a listener; `nil` without TLS."
  @spec server!(nil | keyword) ::
          nil | {identity, [{String.t(), identity}], nil | [binary], [binary]}
  def server!(nil), do: nil

  def server!(opts) do
    known!(opts, @server, "Mote.Net.listen/2")
    hosts = Enum.map(opts[:hosts] || [], &host!/1)
    {identity!(opts), hosts, opts[:cacertfile] && [file!(opts, :cacertfile)], alpn!(opts)}
  end

  @doc """
  The server that a client means, `nil` if it is that of the address, and whom the client trusts; `nil` without TLS. `places` is where it may
  connect to.
  """
  @spec client!(nil | true | keyword, [term], String.t()) ::
          nil | {nil | String.t(), [binary], nil | identity, [binary]}
  def client!(nil, _places, _function), do: nil
  def client!(true, places, function), do: client!([], places, function)

  def client!(opts, places, function) do
    known!(opts, @client, function)
    trusted = if opts[:cacertfile], do: [file!(opts, :cacertfile)], else: systems()
    identity = if opts[:certfile] || opts[:keyfile], do: identity!(opts)
    {name!(opts[:server_name], places), trusted, identity, alpn!(opts)}
  end

  @doc "Raises for an answer of the native side that is about TLS."
  @spec refused!(:no_tls | {:bad_tls, String.t()}) :: no_return
  def refused!(:no_tls) do
    raise ArgumentError,
          "expected Mote to have been built with TLS, since there is :tls: say `config :mote, tls: true`, and run " <>
            "`mix deps.compile mote --force`"
  end

  def refused!({:bad_tls, message}), do: raise(ArgumentError, "expected :tls to be usable: #{message}")

  defp known!(opts, known, function) do
    unless Keyword.keyword?(opts) and Enum.all?(Keyword.keys(opts), &(&1 in known)) do
      raise ArgumentError,
            "expected the :tls of #{function} to have options among #{Enum.map_join(known, ", ", &inspect/1)}, " <>
              "got: #{inspect(opts)}"
    end
  end

  defp host!({name, opts}) when is_binary(name) do
    known!(opts, [:certfile, :keyfile], "Mote.Net.listen/2, for the host #{name},")
    {name, identity!(opts)}
  end

  defp host!(other) do
    raise ArgumentError,
          "expected :hosts of :tls to be names with their files, such as %{\"a.example\" => [certfile: …, keyfile: …]}, " <>
            "got: #{inspect(other)}"
  end

  defp identity!(opts), do: {file!(opts, :certfile), file!(opts, :keyfile)}

  defp file!(opts, option) do
    path = opts[option]

    with true <- is_binary(path), {:ok, bytes} <- File.read(path) do
      bytes
    else
      false ->
        raise ArgumentError,
              "expected #{inspect(option)} of :tls to be the path of a file, got: #{inspect(path)}"

      {:error, reason} ->
        raise ArgumentError, "cannot read #{inspect(option)} of :tls, #{path}: #{:file.format_error(reason)}"
    end
  end

  defp name!(name, _places) when is_binary(name), do: name

  defp name!(name, places) do
    # A path has no address.
    if name != nil or Enum.any?(places, &is_binary/1) do
      raise ArgumentError, "expected :server_name of :tls to be the name that the server's certificate is for"
    end
  end

  defp alpn!(opts) do
    protocols = opts[:alpn] || []

    unless is_list(protocols) and Enum.all?(protocols, &(is_binary(&1) and byte_size(&1) in 1..255)) do
      raise ArgumentError,
            "expected :alpn of :tls to be names of protocols, such as [\"h2\"], got: #{inspect(protocols)}"
    end

    protocols
  end

  # Those that the operating system trusts.
  defp systems do
    for {:cert, der, _decoded} <- :public_key.cacerts_get(), do: der
  rescue
    error ->
      raise ArgumentError,
            "expected :cacertfile of :tls, since the system's certificates cannot be read: #{Exception.message(error)}"
  end
end

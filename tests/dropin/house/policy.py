def strict_policy(get_response):
    """What Django 6 has built in."""

    def answer(request):
        response = get_response(request)
        response.headers["Content-Security-Policy"] = "default-src 'self'"
        return response

    return answer
